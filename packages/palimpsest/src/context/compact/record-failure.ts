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
  /** By which it is written; absent: the session. */
  readonly log?: FinalAppender;
  readonly problem: CompactionProblem;
  /** Why it was to be compacted. */
  readonly cause?: CompactionCause;
}

/** What speaks against the summaries that nobody asked for opens the breaker in the end; what a person or a hook wanted does not. */
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
 * What the breaker learns from a summary that stands. One that a model wrote ends the count. One that was made without a
 * model because the summariser failed is another failure of it: that it was rescued makes no further call worth its
 * money. Notes, the user's own text and a breaker that was open already say nothing of the summariser.
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

/** Whether it speaks against the summaries. Where the provider refuses every request, no summariser was asked. */
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

/** Something threw: a machine that does not read or write, or a bug. It costs the summary, never the turn. */
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

/** By which whoever was told of its beginning hears that nothing comes of it. */
export function closingEvent(
  { numbers }: ResolvedSettingsDep,
  { compacting, trigger, reason, message }: ClosingEventInput,
): ClosingEvent {
  const standing = breakerState(compacting.session.fold, numbers().policy);
  const state = standing.kind === "may-ask" ? "trying" : "degraded";
  return { kind: "compaction-failed", trigger, reason, message, state };
}
