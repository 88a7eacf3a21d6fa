import type { LoopEvent } from "../../schema/event.ts";
import type { Conversation } from "../agent/conversation.ts";
import type { AgentDeps } from "../agent/deps.ts";
import { closingEvent } from "./closing-event.ts";
import { commitCompaction } from "./commit.ts";
import type { Compacting } from "./compacting.ts";
import type { CompactionAsk, CompactionProblem } from "./proposal.ts";
import { proposeCompaction } from "./runner.ts";
import { bookCalls } from "./spent.ts";
import { breakerDraft, failuresSoFar, standingOf } from "./standing.ts";

export interface CompactNow {
  readonly conversation: Conversation;
  readonly ask: Omit<CompactionAsk, "trigger" | "part">;
  readonly signal: AbortSignal;
}

/** A compaction that nobody has to agree to, proposed and committed in one go. Nothing fails by it: the view is as it was then, and that is told. */
export async function* compactNow(
  deps: AgentDeps,
  { conversation, ask, signal }: CompactNow,
): AsyncGenerator<LoopEvent, "compacted" | "failed"> {
  const { compacting } = conversation;
  if (compacting === undefined) return "failed";
  const whole = { ...ask, trigger: "auto", part: { kind: "all" } } as const;
  const proposed = yield* proposeCompaction(deps, { conversation, compacting, ask: whole, signal });
  const outcome =
    proposed.kind === "failed"
      ? proposed
      : yield* commitCompaction(deps, { conversation, compacting, proposal: proposed.proposal });
  if (outcome.kind === "committed") return "compacted";
  if (proposed.kind === "proposed")
    await bookCalls(compacting.session, { calls: proposed.proposal.calls, trigger: "auto" });
  yield await counted(deps, { compacting, problem: outcome });
  return "failed";
}

/** Whether a model may be asked without anybody wanting it: else no layer needs to propose it. */
export function mayCompact(deps: Pick<AgentDeps, "numbers">, { compacting }: Conversation): "yes" | "no" {
  if (compacting === undefined) return "no";
  const standing = standingOf(compacting.session.fold, deps.numbers().policy);
  return standing.kind === "may-ask" ? "yes" : "no";
}

interface Counting {
  readonly compacting: Compacting;
  readonly problem: CompactionProblem;
}

/** What speaks against the summaries opens the breaker in the end; what a person or a hook wanted does not. */
async function counted(deps: AgentDeps, { compacting, problem }: Counting): Promise<LoopEvent> {
  const { session } = compacting;
  if (isFailure(problem.reason)) await session.append(breakerDraft(failuresSoFar(session.fold) + 1));
  return closingEvent(deps, { ...problem, compacting, trigger: "auto" });
}

function isFailure(reason: CompactionProblem["reason"]): boolean {
  switch (reason) {
    case "no_summary":
    case "api_error":
    case "prompt_too_long":
    case "timed_out":
    case "still_over":
      return true;
    case "nothing_to_compact":
    case "switched_off":
    case "blocked":
    case "aborted":
    case "breaker_open":
    case "spend_limit":
    case "unwritten":
      return false;
  }
}
