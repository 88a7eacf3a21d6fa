import type { ModelFailure } from "../../ports/model-port.ts";
import type { LeftOutPart } from "../../schema/edit.ts";

/**
 * `shorter`: a summary, by a model where one can be asked, where it makes the context smaller. `everything`: a summary without
 * a model stands for all that was said, but for a message that waits for its answer, whatever its size.
 */
export type Rung = "shorter" | LeftOutPart | "everything";

/**
 * What a refused request is sent again without, cheapest first. Each rung leaves out what the one before it did, and more;
 * one that would change nothing is passed over, so a refusal that nothing cures comes to the end of the ladder.
 */
export const rungs: readonly Rung[] = ["server-summary", "thinking", "media", "other-blocks", "everything"];

/** The rungs in the order in which this failure walks them: the one that it names, then the others. None: another body would not help. */
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
