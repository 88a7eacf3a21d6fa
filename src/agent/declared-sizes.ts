import { asTokens } from "../schema/brand.ts";
import type { ModelKnowledge } from "../settings/numbers.ts";
import type { Assembling } from "./assembling.ts";
import type { ModelPicked } from "./model-choice.ts";

export interface DeclaredSizesInput {
  readonly model: string;
  readonly picked: Pick<Extract<ModelPicked, { kind: "model" }>, "model" | "server">;
}

export interface DeclaredSizes {
  readonly current: () => Pick<ModelKnowledge, "serverTokens" | "serverInputTokens">;
  /**
   * Asks the server while a turn runs, once, where it has said nothing lately. What it says counts from then on, and is
   * remembered. Nobody waits for it, and a server that does not answer is nobody's trouble.
   */
  readonly askBeside: <Turn>(turn: Turn) => Turn;
}

type Parts = Pick<Assembling, "engine" | "session" | "options">;

/** The sizes that a server declares of a model. Must not reject. */
export async function declaredSizes(parts: Parts, { model, picked }: DeclaredSizesInput): Promise<DeclaredSizes> {
  const { engine, session, options } = parts;
  const { server } = picked;
  let said: Sizes | undefined = server === undefined ? undefined : await engine.declaredModel({ server, model });
  let isDue = options.askSizes === "on" && said === undefined;
  let remembering: Promise<void> | undefined;
  let isClosing = false;
  const ask = async (at: string): Promise<void> => {
    // Closing stops the question, but not the writing of an answer, which takes no time.
    session.onClose(async () => {
      isClosing = true;
      await remembering;
    });
    const described = await picked.model.describe(model);
    if (described === undefined || isClosing) return;
    said = described;
    remembering = engine.rememberDeclared({ server: at, model }, described);
    await remembering;
  };
  return {
    current: () => ({
      serverTokens: asTokens(said?.windowTokens),
      serverInputTokens: asTokens(said?.inputTokensMax),
    }),
    askBeside: (turn) => {
      if (isDue && server !== undefined) void ask(server).catch(() => undefined);
      isDue = false;
      return turn;
    },
  };
}

interface Sizes {
  readonly windowTokens?: number | undefined;
  readonly inputTokensMax?: number | undefined;
}
