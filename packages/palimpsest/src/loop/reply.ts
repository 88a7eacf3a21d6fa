import type { ModelDep } from "../ports/model.ts";
import { nextTry } from "../model/retry.ts";
import type { LoopEvent } from "../schema/event.ts";
import type { AskingDeps } from "../context/deps.ts";
import { type ReplyOutcome, ReplyTaker } from "../context/reply/reply-taker.ts";
import type { Sending } from "../context/request/request.ts";

export interface ReplyInput extends Sending {
  readonly signal: AbortSignal;
}

/**
 * Asks for one reply until it comes whole, or nothing more can be done.
 *
 *   asking ──block ends──▶ asking: the block before it is on disk
 *   asking ──reply ends──▶ replied: its last block goes to disk with the final usage
 *   asking ──fails, may succeed later──▶ waiting ──▶ asking: the new reply begins where the broken one began, which stays
 *                                                   in the log beside the path
 *   asking ──fails for good, or is aborted──▶ over: blocks that came whole stay on the path
 */
export async function* askForReply(deps: AskingDeps, input: ReplyInput): AsyncGenerator<LoopEvent, ReplyOutcome> {
  const taker = new ReplyTaker(deps, input);
  for (let attempt = 1; ; attempt += 1) {
    const outcome = yield* once(deps, { ...input, taker });
    if (outcome.kind !== "failed") return outcome;
    const { failure } = outcome;
    if (failure.why === "aborted" || input.signal.aborted) return taker.keepPartial({ kind: "aborted" });
    const next = nextTry({ failure, attempt, random: deps.random(), limits: deps.retries });
    if (next.kind === "give-up") return taker.keepPartial({ ...outcome, message: next.message });
    yield { kind: "retry-start", attempt: attempt + 1, afterMs: next.ms, message: failure.message };
    await deps.wait(next.ms, input.signal);
    if (input.signal.aborted) return taker.keepPartial({ kind: "aborted" });
  }
}

async function* once(
  deps: ModelDep,
  { assembled, signal, taker }: ReplyInput & { readonly taker: ReplyTaker },
): AsyncGenerator<LoopEvent, ReplyOutcome> {
  await taker.begin();
  for await (const event of deps.model.send(assembled.request, signal)) {
    const outcome = yield* taker.take(event);
    if (outcome === undefined) continue;
    yield* taker.over();
    return outcome;
  }
  throw new Error("a model ended without a reply and without a failure");
}
