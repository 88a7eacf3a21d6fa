import type { NumbersDep } from "../deps.ts";
import type { LastAppends, Session } from "../../session/session.ts";
import { type ClosingEvent, closingEvent } from "./closing-event.ts";
import type { CompactionCause } from "../../schema/compaction.ts";
import type { Draft } from "../../transcript/draft.ts";
import type { CompactionProblem, Proposal } from "./proposal.ts";
import { breakerDraft, failuresSoFar } from "./standing.ts";

export interface Failing {
  readonly session: Session;
  /** By which it is written; absent: the session. */
  readonly log?: LastAppends;
  readonly problem: CompactionProblem;
  /** Why it was to be compacted. */
  readonly cause?: CompactionCause;
}

/** What speaks against the summaries that nobody asked for opens the breaker in the end; what a person or a hook wanted does not. */
export async function countedFailure(
  deps: NumbersDep,
  { session, log = session, problem, cause }: Failing,
): Promise<ClosingEvent> {
  if (isCounted(problem.reason, cause)) await log.append(failureDraft(session, problem));
  return closingEvent(deps, { ...problem, compacting: { session }, trigger: "auto" });
}

const failureDraft = ({ fold }: Pick<Session, "fold">, { reason }: CompactionProblem): Draft =>
  breakerDraft(failuresSoFar(fold) + 1, reason === "no_summary" ? "unusable" : undefined);

/**
 * What the breaker learns from a summary that stands. One that a model wrote ends the count. One that was made without a
 * model because the summariser failed is another failure of it: that it was rescued makes no further call worth its
 * money. Notes, the user's own text and a breaker that was open already say nothing of the summariser.
 */
export async function countSummary(
  session: Pick<Session, "fold" | "append">,
  { ask, path, instead }: Pick<Proposal, "ask" | "path" | "instead">,
): Promise<void> {
  if (instead !== undefined) {
    if (ask.trigger === "auto" && isCounted(instead.reason, ask.cause))
      await session.append(failureDraft(session, instead));
    return;
  }
  if (isOfModel(path) && failuresSoFar(session.fold) > 0) await session.append(breakerDraft(0));
}

function isOfModel(path: Proposal["path"]): boolean {
  switch (path) {
    case "fork":
    case "stream":
    case "server":
      return true;
    case "notes":
    case "given":
    case "extractive":
      return false;
  }
}

/** Whether it speaks against the summaries. Where the provider refuses every request, no summariser was asked. */
export function isCounted(reason: CompactionProblem["reason"], cause?: CompactionCause): boolean {
  if (cause === "refused") return false;
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
