import type { CompactionProblem } from "./proposal.ts";

/** Something threw: a machine that does not read or write, or a bug. It costs the summary, never the turn. */
export const brokenOff = (error: unknown): { readonly kind: "failed" } & CompactionProblem => ({
  kind: "failed",
  reason: "unwritten",
  message: `The compaction broke off: ${String(error)}`,
});
