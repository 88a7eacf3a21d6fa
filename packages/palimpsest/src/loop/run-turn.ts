import type { HookPayload, HookOutcome } from "../ports/hooks.ts";
import type { LoopEvent, TurnOutcome } from "../schema/loop-event.ts";
import { userDraft } from "../transcript/draft.ts";
import { roundsMax as roundsMaxDefault, stopHooksMax } from "./limits.ts";
import type { CallResult } from "../context/reply/round-results.ts";
import { runCalls } from "./run-calls.ts";
import type { Conversation } from "../context/conversation.ts";
import type { AgentDeps, ModelCallDeps } from "../context/deps.ts";
import { Rounds } from "../context/rounds.ts";
import { type ReplyOutcome, ReplyRecorder } from "../context/reply/reply-recorder.ts";
import { contextDraft, draftQueuedMessage } from "../context/inputs.ts";
import {
  cutReplyEnd,
  syncFailureEnd,
  requestFailureEnd,
  roundLimitEnd,
  hookEnd,
  notSentEnd,
  writeFailureEnd,
} from "../context/unanswered-turn.ts";
import type { ModelDep } from "../ports/model-port.ts";
import { nextTry } from "../model/next-try.ts";
import type { PendingRequest } from "../context/request/assemble-request.ts";

export interface TurnInput {
  readonly conversation: Conversation;
  /** What the person said. */
  readonly text: string;
  readonly signal: AbortSignal;
  /** What the person says meanwhile; taken at the next boundary between rounds. */
  readonly queue: string[];
  readonly roundsMax?: number;
}

/**
 * One turn: from what a person says to the reply without a call.
 *
 *   said ──▶ asking ──reply with calls──▶ calling ──results are in──▶ asking
 *            asking ──reply without a call, nothing queued──▶ answered
 *            asking ──refused for what it holds, or as too long──▶ plainer: the next rung of the ladder ──▶ asking
 *            plainer ──no rung is left──▶ failed, or over-limit: what was tried is taken back
 *            asking ──reply broke off over the threshold──▶ compacting ──▶ asking
 *            asking ──no request fits──▶ over-limit          asking ──fails for good──▶ failed
 *            asking, calling ──abort──▶ aborted: open calls get a frozen answer
 *
 * An end without an answer names a remedy (`turn-ends.ts`). Before each request the layers take out of the view what pays to go, never behind it.
 * Whatever happens, the transcript is whole at every moment: each step is on disk before the next begins.
 */
export async function* runTurn(deps: AgentDeps, input: TurnInput): AsyncGenerator<LoopEvent> {
  const leave = new AbortController();
  const signal = AbortSignal.any([input.signal, leave.signal]);
  const turn = new Turn(deps, { ...input, signal });
  yield { kind: "turn-start", session: input.conversation.session, model: input.conversation.baseline.model };
  let isOver = false;
  try {
    const end = yield* turn.run();
    isOver = true;
    const synced = await input.conversation.line.endTurn();
    // A disk may take the bytes and refuse them only when they are synced.
    yield { kind: "turn-end", ...(synced.kind === "failed" ? syncFailureEnd(end, synced) : end) };
  } finally {
    // Who stops listening wants nothing more to happen.
    leave.abort();
    if (!isOver) await input.conversation.line.settle();
  }
}

type CompleteReply = Extract<ReplyOutcome, { kind: "replied" }>;

/** How a round ended where the turn goes on. `again`: the provider refused the request, and the next one is plainer. */
type RoundOutcome = "next" | "again";

class Turn {
  readonly #deps: AgentDeps;
  readonly #input: TurnInput;
  readonly #rounds: Rounds;
  #stopsBlocked = 0;

  constructor(deps: AgentDeps, input: TurnInput) {
    this.#deps = deps;
    this.#input = input;
    this.#rounds = new Rounds(deps, input);
  }

  async *run(): AsyncGenerator<LoopEvent, TurnOutcome> {
    const begun = yield* this.#begin();
    if (begun !== undefined) return begun;
    const { roundsMax = roundsMaxDefault } = this.#input;
    for (let rounds = 0; rounds < roundsMax;) {
      const ended = yield* this.#round();
      if (ended === "next") rounds += 1;
      else if (ended !== "again") return ended;
    }
    return roundLimitEnd(roundsMax);
  }

  async *#begin(): AsyncGenerator<LoopEvent, TurnOutcome | undefined> {
    const { text } = this.#input;
    const failure = yield* this.#rounds.begin();
    if (failure !== undefined) return writeFailureEnd(failure);
    const hook = yield* this.#fire({ name: "UserPromptSubmit", prompt: text });
    if (this.#input.signal.aborted) return { reason: "aborted" };
    const stopped = hook.blocked ?? hook.stopped;
    if (stopped !== undefined) return hookEnd(stopped.reason);
    const appended = await this.#rounds.say(userDraft(text), ...hook.context.map((one) => contextDraft(one)));
    return appended.kind === "failed" ? writeFailureEnd(appended) : undefined;
  }

  async *#round(): AsyncGenerator<LoopEvent, TurnOutcome | RoundOutcome> {
    const { conversation, signal } = this.#input;
    const drained = yield* this.#drain();
    if (drained !== undefined) return drained;
    const prepared = yield* this.#rounds.next();
    if (prepared.kind === "aborted") return this.#aborted();
    if (prepared.kind === "failed") return writeFailureEnd(prepared);
    if (prepared.kind !== "request") return notSentEnd(prepared);
    yield { kind: "request-start", number: this.#rounds.requests, tokens: prepared.tokens };
    const outcome = yield* askForReply(this.#deps, { conversation, assembled: prepared, signal });
    if (outcome.kind !== "replied") return yield* this.#over(outcome);
    const cut = outcome.calls.length > 0 ? undefined : cutReplyEnd(outcome.stopReason);
    if (cut !== undefined) {
      const made = yield* this.#rounds.cut({ ...cut, requestTokens: prepared.tokens });
      return made === "compacted" ? "next" : cut;
    }
    this.#rounds.replied();
    return (yield* outcome.calls.length > 0 ? this.#call(outcome) : this.#answered()) ?? "next";
  }

  async *#call({ calls }: CompleteReply): AsyncGenerator<LoopEvent, TurnOutcome | undefined> {
    const { conversation, signal } = this.#input;
    let stopped: string | undefined;
    const onResult = (result: CallResult): Promise<void> => {
      stopped ??= result.stopped;
      return this.#rounds.result(result);
    };
    yield* runCalls(this.#deps, { conversation, calls, signal, onResult });
    const failure = yield* this.#rounds.resultsIn();
    if (failure !== undefined) return writeFailureEnd(failure);
    if (signal.aborted) return this.#aborted();
    this.#rounds.ended(calls.length);
    return stopped === undefined ? undefined : hookEnd(stopped);
  }

  /** Messages that came meanwhile, inside a reminder that says whose they are. */
  async *#drain(): AsyncGenerator<LoopEvent, TurnOutcome | undefined> {
    for (const text of this.#input.queue.splice(0)) {
      const appended = await this.#rounds.say(draftQueuedMessage(text));
      if (appended.kind === "failed") return writeFailureEnd(appended);
      yield { kind: "message-queued", text };
    }
    return undefined;
  }

  async *#answered(): AsyncGenerator<LoopEvent, TurnOutcome | undefined> {
    this.#rounds.ended(0);
    if (this.#input.queue.length > 0) return undefined;
    const hook = yield* this.#fire({ name: "Stop", again: this.#stopsBlocked > 0 });
    if (hook.blocked === undefined || hook.stopped !== undefined || this.#stopsBlocked >= stopHooksMax)
      return this.#input.queue.length > 0 ? undefined : { reason: "answered" };
    this.#stopsBlocked += 1;
    const appended = await this.#rounds.say(contextDraft(hook.blocked.reason));
    return appended.kind === "failed" ? writeFailureEnd(appended) : undefined;
  }

  async *#fire(moment: HookPayload): AsyncGenerator<LoopEvent, HookOutcome> {
    const outcome = await this.#deps.hooks.fire({ ...this.#deps.place(), ...moment }, this.#input.signal);
    for (const message of [...outcome.messages, ...outcome.warnings]) yield { kind: "warning", code: "hook", message };
    return outcome;
  }

  async *#over(outcome: Exclude<ReplyOutcome, CompleteReply>): AsyncGenerator<LoopEvent, TurnOutcome | RoundOutcome> {
    switch (outcome.kind) {
      case "aborted":
        return this.#aborted();
      case "unwritten":
        return writeFailureEnd(outcome.failure);
      case "failed": {
        await this.#input.conversation.line.settle();
        const after = yield* this.#rounds.refused(outcome.failure);
        if (this.#input.signal.aborted) return this.#aborted();
        if (after.kind === "failed") return writeFailureEnd(after);
        return after.kind === "plainer" ? "again" : requestFailureEnd({ ...outcome, tried: after.tried });
      }
    }
  }

  async #aborted(): Promise<TurnOutcome> {
    const settled = await this.#input.conversation.line.settle();
    return settled.kind === "failed" ? writeFailureEnd(settled) : { reason: "aborted" };
  }
}

export interface ReplyInput extends PendingRequest {
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
async function* askForReply(deps: ModelCallDeps, input: ReplyInput): AsyncGenerator<LoopEvent, ReplyOutcome> {
  const taker = new ReplyRecorder(deps, input);
  for (let attempt = 1; ; attempt += 1) {
    const outcome = yield* tryReply(deps, { ...input, taker });
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

async function* tryReply(
  deps: ModelDep,
  { assembled, signal, taker }: ReplyInput & { readonly taker: ReplyRecorder },
): AsyncGenerator<LoopEvent, ReplyOutcome> {
  await taker.begin();
  for await (const event of deps.model.send(assembled.request, signal)) {
    const outcome = yield* taker.record(event);
    if (outcome === undefined) continue;
    yield* taker.finish();
    return outcome;
  }
  throw new Error("a model ended without a reply and without a failure");
}
