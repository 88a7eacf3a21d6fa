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
 * A compaction that nobody has to agree to. A summary that was prepared is swapped in; where the layers want one, nobody
 * waits for it: it is made beside the work and comes `later`. Where nothing can be sent without it, one that is still on
 * its way is given up, and comes without a model.
 */
export async function* compactDue(
  deps: CompactionDeps,
  input: CompactDueInput,
): AsyncGenerator<LoopEvent, "compacted" | "failed" | "later"> {
  const { compacting } = input.conversation;
  const { switches, policy } = deps.numbers();
  const isAhead = switches["compact.background"].value && policy.summary?.made === "ahead";
  const preparation = isAhead ? compacting?.preparation : undefined;
  // A summary that was prepared keeps what was said since, and that may be what the provider refuses.
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

/** Proposed and committed in one go. Nothing fails by it: the view is as it was then, and that is told. */
async function* compactNow(
  deps: CompactionDeps,
  { conversation, ask, signal }: CompactDueInput,
): AsyncGenerator<LoopEvent, "compacted" | "failed"> {
  const { compacting } = conversation;
  if (compacting === undefined) return "failed";
  // What it would stand for is about to be replaced.
  await compacting.preparation?.cancel();
  const whole = { ...ask, trigger: "auto", part: { kind: "all" } } as const;
  const proposed = yield* proposeCompaction(deps, { conversation, compacting, ask: whole, signal });
  if (proposed.kind === "proposed")
    return yield* commitProposal(deps, { conversation, compacting, proposal: proposed.proposal });
  yield await recordFailure(deps, { session: compacting.session, problem: proposed, cause: ask.cause });
  return "failed";
}

/** Whether a model may be asked without anybody wanting it: else no layer needs to propose it. */
export function mayCompact(deps: ResolvedSettingsDep, { compacting }: Conversation): "yes" | "no" {
  const { policy } = deps.numbers();
  if (policy.compact === undefined || compacting === undefined || compacting.summaryModel === "none") return "no";
  const standing = breakerState(compacting.session.fold, policy);
  return standing.kind === "may-ask" ? "yes" : "no";
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
  const told = because === undefined ? {} : { because };
  let isHeard = false;
  try {
    yield { kind: "compaction-start", trigger: "auto", cause, tokens: usedTokens, ...told };
    isHeard = true;
  } finally {
    // Who stops listening wants no summary; what it has cost is written down.
    if (!isHeard) await bookCalls(compacting.session, { calls: proposal.calls, trigger: "auto" });
  }
  const asked = { ...proposal, ask: { ...proposal.ask, ...ask } };
  return yield* commitProposal(deps, { conversation, compacting, proposal: asked });
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
