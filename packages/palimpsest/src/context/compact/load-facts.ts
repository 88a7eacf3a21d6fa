import { collectFacts } from "../../layers/4-compact/facts/fact-book.ts";
import type { SessionFacts } from "../../layers/4-compact/facts/session-facts.ts";
import type { CompactionSetup } from "./compaction-setup.ts";
import type { CompactionRequest, CompactionProblem } from "./proposal.ts";

type FactsOutcome =
  | {
      readonly kind: "facts";
      readonly facts: SessionFacts;
      /** `memory`: what lies before the path that was read is missing, so no checkpoint may pass them on as all there is. */
      readonly from: "log" | "memory";
      /** Why not from the log. */
      readonly because?: string;
    }
  | ({ readonly kind: "failed" } & CompactionProblem);

/** Must not reject. Where a log can't be read and nothing can be sent any more, what stands in memory has to do. */
export async function loadFacts(
  { facts, session }: Pick<CompactionSetup, "facts" | "session">,
  { cause }: Pick<CompactionRequest, "cause">,
): Promise<FactsOutcome> {
  try {
    return { kind: "facts", facts: await facts.facts(), from: "log" };
  } catch (error) {
    const because = `What was said before could not be read: ${String(error)}`;
    const isNeeded = cause === "limit" || cause === "overflow" || cause === "refused";
    if (!isNeeded) return { kind: "failed", reason: "unwritten", message: because };
    const { path } = session.fold;
    const line = path.leaf?.sidechain === true ? "side" : "main";
    return { kind: "facts", facts: collectFacts(path.entries, { line }), from: "memory", because };
  }
}
