import type { ModelFailure } from "../../ports/model-port.ts";
import type { LeftOutPart } from "../../schema/edit.ts";

/**
 * `shorter`: a summary, by a model if one is available, if it makes the context smaller. `everything`: a summary without a
 * model replaces all messages, whatever its size, except a message that waits for its answer.
 */
export type Rung = "shorter" | LeftOutPart | "everything";

/**
 * What to leave out when a refused request is sent again, cheapest first. Each rung leaves out more, on top of the rungs
 * before it. A rung that would change nothing is skipped, so a refusal that nothing fixes reaches the end of the ladder.
 */
export const rungs: readonly Rung[] = ["server-summary", "thinking", "media", "other-blocks", "everything"];

/**
 * The rungs to try for this failure: first the one that it names, then the others. Empty if another body would not help.
 */
export function refusalLadder({ why, part, beside }: Pick<ModelFailure, "why" | "part" | "beside">): readonly Rung[] {
  if (beside !== undefined) return [];
  switch (why) {
    case "too-long":
      return ["shorter", ...rungs];
    case "refused":
      return part === undefined ? rungs : startWith(part);
    case "overloaded":
    case "rate-limited":
    case "server":
    case "network":
    case "timeout":
    case "broken-stream":
    case "unauthorised":
    case "not-found":
    case "spend-limit":
    case "aborted":
      return [];
  }
}

const startWith = (first: Rung): readonly Rung[] => [first, ...rungs.filter((rung) => rung !== first)];
