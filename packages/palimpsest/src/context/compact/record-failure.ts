import type { ResolvedSettingsDep } from "../deps.ts";
import type { FinalAppender, Session } from "../../session/session.ts";
import type { CompactionCause, CompactionTrigger } from "../../schema/compaction-cause.ts";
import type { Draft } from "../../transcript/draft.ts";
import type { CompactionProblem, Proposal } from "./proposal.ts";
import { breakerDraft, countFailures, breakerState } from "./breaker-state.ts";
import type { LoopEvent } from "../../schema/loop-event.ts";
import type { CompactionSetup } from "./compaction-setup.ts";

interface RecordFailureInput {
  readonly session: Session;
  /** Where it is recorded; by default the session. */
  readonly log?: FinalAppender;
  readonly problem: CompactionProblem;
  /** Why the compaction was started. */
  readonly cause?: CompactionCause;
}

/**
 * Failures of automatic summaries count for the breaker; a compaction that the user or a hook stopped does not.
 */
export async function recordFailure(
  deps: ResolvedSettingsDep,
  { session, log = session, problem, cause }: RecordFailureInput,
): Promise<ClosingEvent> {
  if (countsForBreaker(problem.reason, cause)) await log.append(failureDraft(session, problem));
  return closingEvent(deps, { ...problem, compacting: { session }, trigger: "auto" });
}

const failureDraft = ({ fold }: Pick<Session, "fold">, { reason }: CompactionProblem): Draft =>
  breakerDraft(countFailures(fold) + 1, reason === "no_summary" ? "unusable" : undefined);

/**
 * Updates the breaker after a committed summary. A summary by a model resets the count. A summary without a model, because
 * the summariser failed, counts as another failure: further calls would still not be worth their money. Notes, the user's
 * own text and a breaker that was already open say nothing about the summariser.
 */
export async function recordSummaryResult(
  session: Pick<Session, "fold" | "append">,
  { ask, path, instead }: Pick<Proposal, "ask" | "path" | "instead">,
): Promise<void> {
  if (instead !== undefined) {
    if (ask.trigger === "auto" && countsForBreaker(instead.reason, ask.cause))
      await session.append(failureDraft(session, instead));
    return;
  }
  if (isWrittenByModel(path) && countFailures(session.fold) > 0) await session.append(breakerDraft(0));
}

function isWrittenByModel(path: Proposal["path"]): boolean {
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

/** Is it a failure of the summariser? If the provider refuses every request, no summariser was called. */
export function countsForBreaker(reason: CompactionProblem["reason"], cause?: CompactionCause): boolean {
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

/** Something threw: a failure of the disk, or a bug. It costs the summary, never the turn. */
export const toBreakOffFailure = (error: unknown): { readonly kind: "failed" } & CompactionProblem => ({
  kind: "failed",
  reason: "unwritten",
  message: `The compaction broke off: ${String(error)}`,
});

interface ClosingEventInput extends CompactionProblem {
  readonly compacting: Pick<CompactionSetup, "session">;
  readonly trigger: CompactionTrigger;
}

export type ClosingEvent = Extract<LoopEvent, { kind: "compaction-failed" }>;

/** The event that ends a compaction which has failed after its start was reported. */
export function closingEvent(
  { settings }: ResolvedSettingsDep,
  { compacting, trigger, reason, message }: ClosingEventInput,
): ClosingEvent {
  const breaker = breakerState(compacting.session.fold, settings().policy);
  const state = breaker.kind === "may-ask" ? "trying" : "degraded";
  return { kind: "compaction-failed", trigger, reason, message, state };
}
