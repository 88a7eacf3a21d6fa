import type { LoopEvent } from "../../schema/loop-event.ts";
import type { Conversation } from "../conversation.ts";
import type { CompactionDeps, ResolvedSettingsDep } from "../deps.ts";
import { commitCompaction } from "./commit-compaction.ts";
import type { CompactionSetup } from "./compaction-setup.ts";
import { recordFailure } from "./record-failure.ts";
import type { CompactionRequest, Proposal } from "./proposal.ts";
import { proposeCompaction } from "./propose-compaction.ts";
import { bookCalls } from "../past-costs.ts";
import { breakerState } from "./breaker-state.ts";

export interface CompactDueInput {
  readonly conversation: Conversation;
  readonly ask: Omit<CompactionRequest, "trigger" | "part" | "made">;
  readonly signal: AbortSignal;
}

/**
 * An automatic compaction, without confirmation by the user. A prepared summary is swapped in. If the layers want one and
 * none is ready, it is prepared in the background, and the outcome is `later`. If no request fits without it, a summary
 * that is still being prepared is given up and replaced by one without a model.
 */
export async function* compactDue(
  deps: CompactionDeps,
  input: CompactDueInput,
): AsyncGenerator<LoopEvent, "compacted" | "failed" | "later"> {
  const { compacting } = input.conversation;
  const { switches, policy } = deps.settings();
  const isAhead = switches["compact.background"].value && policy.summary?.made === "ahead";
  const preparation = isAhead ? compacting?.preparation : undefined;
  // A prepared summary keeps the messages since, and one of them may be what the provider refuses.
  if (compacting === undefined || preparation === undefined || input.ask.cause === "refused")
    return yield* compactNow(deps, input);
  const prepared = preparation.take();
  const { cause } = input.ask;
  const mayWait = cause === "threshold" || cause === "price";
  if (prepared.kind === "ready") {
    const swapped = yield* swapIn(deps, { ...input, compacting, proposal: prepared.proposal });
    return swapped === "failed" && !mayWait ? yield* compactNow(deps, input) : swapped;
  }
  if (mayWait) {
    preparation.want("yes");
    return "later";
  }
  const isTooLate = prepared.kind === "preparing" && cause !== "agent";
  return yield* compactNow(deps, isTooLate ? { ...input, ask: { ...input.ask, summariser: "nobody" } } : input);
}

/** Proposes and commits at once. A failure is reported and leaves the view unchanged. */
async function* compactNow(
  deps: CompactionDeps,
  { conversation, ask, signal }: CompactDueInput,
): AsyncGenerator<LoopEvent, "compacted" | "failed"> {
  const { compacting } = conversation;
  if (compacting === undefined) return "failed";
  // The part that a prepared summary would replace is about to be compacted.
  await compacting.preparation?.cancel();
  const request = { ...ask, trigger: "auto", part: { kind: "all" } } as const;
  const proposed = yield* proposeCompaction(deps, { conversation, compacting, ask: request, signal });
  if (proposed.kind === "proposed")
    return yield* commitProposal(deps, { conversation, compacting, proposal: proposed.proposal });
  yield await recordFailure(deps, { session: compacting.session, problem: proposed, cause: ask.cause });
  return "failed";
}

/** May a model be called for an automatic summary? If not, no layer needs to propose one. */
export function mayCompact(deps: ResolvedSettingsDep, { compacting }: Conversation): "yes" | "no" {
  const { policy } = deps.settings();
  if (policy.compact === undefined || compacting === undefined || compacting.summaryModel === "none") return "no";
  return breakerState(compacting.session.fold, policy).kind === "may-ask" ? "yes" : "no";
}

interface SwapInput extends Pick<CompactDueInput, "conversation" | "ask"> {
  readonly compacting: CompactionSetup;
  readonly proposal: Proposal;
}

async function* swapIn(
  deps: CompactionDeps,
  { conversation, compacting, proposal, ask }: SwapInput,
): AsyncGenerator<LoopEvent, "compacted" | "failed"> {
  const { cause, because } = ask;
  const { usedTokens } = conversation.line;
  let isResumed = false;
  try {
    yield {
      kind: "compaction-start",
      trigger: "auto",
      cause,
      tokens: usedTokens,
      ...(because === undefined ? {} : { because }),
    };
    isResumed = true;
  } finally {
    // A caller that stops iterating wants no summary; its cost is booked.
    if (!isResumed) await bookCalls(compacting.session, { calls: proposal.calls, trigger: "auto" });
  }
  const updated = { ...proposal, ask: { ...proposal.ask, ...ask } };
  return yield* commitProposal(deps, { conversation, compacting, proposal: updated });
}

async function* commitProposal(
  deps: CompactionDeps,
  { conversation, compacting, proposal }: Omit<SwapInput, "ask">,
): AsyncGenerator<LoopEvent, "compacted" | "failed"> {
  const outcome = yield* commitCompaction(deps, { conversation, compacting, proposal });
  if (outcome.kind === "committed") return "compacted";
  const { session } = compacting;
  await bookCalls(session, { calls: proposal.calls, trigger: "auto" });
  yield await recordFailure(deps, { session, problem: outcome, cause: proposal.ask.cause });
  return "failed";
}
