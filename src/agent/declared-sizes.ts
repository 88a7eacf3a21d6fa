import type { Engine } from "../engine.ts";
import type { Session } from "../loop/session.ts";
import type { ModelPort } from "../ports/model.ts";
import { type Tokens, tokens } from "../schema/brand.ts";
import type { ModelKnowledge } from "../settings/numbers.ts";

export interface DeclaredSizesInput {
  readonly engine: Pick<Engine, "declaredModel" | "rememberDeclared">;
  /** Whoever closes it does not wait for an answer. */
  readonly session: Pick<Session, "onClose">;
  readonly port: Pick<ModelPort, "describe">;
  readonly model: string;
  /** Undefined: nobody is asked, and nothing was said before. */
  readonly server: string | undefined;
}

export interface DeclaredSizes {
  readonly current: () => Pick<ModelKnowledge, "serverTokens" | "serverInputTokens">;
  /**
   * Asks the server beside whatever else is going on, once, where it has said nothing lately. What it says counts from
   * then on, and is remembered. Nobody waits for it, and a server that does not answer is nobody's trouble.
   */
  readonly ask: () => void;
}

/** The sizes that a server declares of a model. Must not reject. */
export async function declaredSizes(input: DeclaredSizesInput): Promise<DeclaredSizes> {
  const { engine, session, port, model, server } = input;
  let said: Sizes | undefined = server === undefined ? undefined : await engine.declaredModel({ server, model });
  let isAsked = server === undefined || said !== undefined;
  const ask = async (at: string): Promise<void> => {
    const closing = new AbortController();
    session.onClose(async () => closing.abort());
    const described = await port.describe(model, closing.signal);
    if (described === undefined || closing.signal.aborted) return;
    said = described;
    await engine.rememberDeclared({ server: at, model }, described);
  };
  return {
    current: () => ({
      serverTokens: asTokens(said?.windowTokens),
      serverInputTokens: asTokens(said?.inputTokensMax),
    }),
    ask: () => {
      if (isAsked || server === undefined) return;
      isAsked = true;
      void ask(server).catch(() => undefined);
    },
  };
}

interface Sizes {
  readonly windowTokens?: number | undefined;
  readonly inputTokensMax?: number | undefined;
}

const asTokens = (value: number | undefined): Tokens | undefined => (value === undefined ? undefined : tokens(value));
