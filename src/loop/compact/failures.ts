import type { AgentDeps } from "../agent/deps.ts";
import type { LastAppends, Session } from "../session.ts";
import { type ClosingEvent, closingEvent } from "./closing-event.ts";
import type { CompactionProblem } from "./proposal.ts";
import { breakerDraft, failuresSoFar } from "./standing.ts";

export interface Failing {
  readonly session: Session;
  /** By which it is written; absent: the session. */
  readonly log?: LastAppends;
  readonly problem: CompactionProblem;
}

/** What speaks against the summaries that nobody asked for opens the breaker in the end; what a person or a hook wanted does not. */
export async function countedFailure(
  deps: Pick<AgentDeps, "numbers">,
  { session, log = session, problem }: Failing,
): Promise<ClosingEvent> {
  if (isCounted(problem.reason)) await log.append(breakerDraft(failuresSoFar(session.fold) + 1));
  return closingEvent(deps, { ...problem, compacting: { session }, trigger: "auto" });
}

/** Whether it speaks against the summaries. */
export function isCounted(reason: CompactionProblem["reason"]): boolean {
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
