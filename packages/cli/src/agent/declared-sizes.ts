import { asTokens } from "palimpsest/internal/schema/brand";
import type { ModelKnowledge } from "palimpsest/internal/settings/numbers";
import { type AskBeside, askBesideTurn } from "./ask-beside-turn.ts";
import type { Assembling } from "./assembling.ts";
import type { ModelPicked } from "./model-choice.ts";

export interface DeclaredSizesInput {
  readonly model: string;
  readonly picked: Pick<Extract<ModelPicked, { kind: "model" }>, "model" | "server">;
}

export interface DeclaredSizes {
  readonly current: () => Pick<ModelKnowledge, "serverTokens" | "serverInputTokens">;
  /** Asks the server where it has said nothing lately. What it says counts from then on, and is remembered. */
  readonly askBeside: AskBeside;
}

type Parts = Pick<Assembling, "engine" | "session" | "options">;

/** The sizes that a server declares of a model. Must not reject. */
export async function declaredSizes(parts: Parts, { model, picked }: DeclaredSizesInput): Promise<DeclaredSizes> {
  const { engine, session, options } = parts;
  const { server } = picked;
  if (server === undefined) return { current: () => ({}), askBeside: (turn) => turn };
  let said: Sizes | undefined = await engine.declaredModel({ server, model });
  return {
    current: () => ({
      serverTokens: asTokens(said?.windowTokens),
      serverInputTokens: asTokens(said?.inputTokensMax),
    }),
    askBeside: askBesideTurn(session, {
      state: options.askSizes === "on" && said === undefined ? "due" : "known",
      ask: () => picked.model.describe(model),
      take: (described) => {
        said = described;
        return engine.rememberDeclared({ server, model }, described);
      },
    }),
  };
}

interface Sizes {
  readonly windowTokens?: number | undefined;
  readonly inputTokensMax?: number | undefined;
}
