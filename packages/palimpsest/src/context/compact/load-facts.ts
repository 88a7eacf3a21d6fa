import { collectFacts } from "../../layers/4-compact/facts/fact-book.ts";
import type { SessionFacts } from "../../layers/4-compact/facts/session-facts.ts";
import type { CompactionSetup } from "./compaction-setup.ts";
import type { CompactionRequest, CompactionProblem } from "./proposal.ts";

type FactsOutcome =
  | {
      readonly kind: "facts";
      readonly facts: SessionFacts;
      /** `memory`: facts from before the path that was read are missing, so no checkpoint may store them as complete. */
      readonly from: "log" | "memory";
      /** Why the log could not be read. */
      readonly because?: string;
    }
  | ({ readonly kind: "failed" } & CompactionProblem);

/** Must not reject. If the log can't be read and no request fits any more, the facts in memory must suffice. */
export async function loadFacts(
  { facts, session }: Pick<CompactionSetup, "facts" | "session">,
  { cause }: Pick<CompactionRequest, "cause">,
): Promise<FactsOutcome> {
  try {
    return { kind: "facts", facts: await facts.facts(), from: "log" };
  } catch (error) {
    const because = `Earlier messages could not be read: ${String(error)}`;
    const isNeeded = cause === "limit" || cause === "overflow" || cause === "refused";
    if (!isNeeded) return { kind: "failed", reason: "unwritten", message: because };
    const { path } = session.fold;
    const line = path.leaf?.sidechain === true ? "side" : "main";
    return { kind: "facts", facts: collectFacts(path.entries, { line }), from: "memory", because };
  }
}
