import type { Baseline } from "palimpsest/internal/cache/baseline";
import { fixedPartIn } from "palimpsest/internal/context/follow-undo";
import { providerCounterName } from "../settings/counted-parts.ts";
import { believableFixedPart } from "palimpsest/internal/tokens/believable-usage";
import { estimateFixedPart, type FixedFigure, measureFixedPart } from "palimpsest/internal/tokens/fixed-part";
import { type AskBeside, askBesideTurn } from "./ask-beside-turn.ts";
import type { Assembling } from "./assembling.ts";
import type { ModelPicked } from "./model-choice.ts";

export interface CountedFixedPartInput {
  readonly baseline: Baseline;
  readonly picked: Pick<Extract<ModelPicked, { kind: "model" }>, "model" | "server">;
}

export interface CountedFixedPart {
  /** What the server counted; undefined as long as it has counted nothing. */
  readonly current: () => FixedFigure | undefined;
  /**
   * Asks the server where it has not counted this part lately. Its count is used from the next request on, and
   * remembered; one that can't be right is passed over.
   */
  readonly askBeside: AskBeside;
}

type Parts = Pick<Assembling, "engine" | "session" | "options">;

/** What the session's requests carry besides messages, as the server itself counts it. Must not reject. */
export async function countedFixedPart(
  { engine, session, options }: Parts,
  { baseline, picked: { model, server } }: CountedFixedPartInput,
): Promise<CountedFixedPart> {
  const count = model.count?.bind(model);
  if (server === undefined || count === undefined) return { current: () => undefined, askBeside: (turn) => turn };
  const part = fixedPartIn(baseline);
  const name = providerCounterName({ server, model: baseline.model });
  let counted = await engine.countedPart(part, name);
  return {
    current: () => counted,
    askBeside: askBesideTurn(session, {
      state: options.countFixedPart === "on" && counted === undefined ? "due" : "known",
      ask: async (signal) => {
        const figure = await engine.countFixedPart(
          { part },
          { name, countRequest: (request) => count({ ...request, model: baseline.model }, signal) },
        );
        const estimate = estimateFixedPart(measureFixedPart(part)).tokens;
        const isUsable = figure.counter === name && believableFixedPart({ counted: figure.tokens, estimate });
        return isUsable ? figure : undefined;
      },
      take: (figure) => {
        counted = figure;
        session.ledger.carries(part, figure);
        return engine.rememberCounted(part, figure);
      },
    }),
  };
}
