import type { HookPayload, HookOutcome } from "../ports/hooks.ts";
import type { LoopEvent, TurnOutcome } from "../schema/loop-event.ts";
import { userDraft } from "../transcript/draft.ts";
import { roundsMax as roundsMaxDefault, stopHooksMax } from "./limits.ts";
import type { CallResult } from "../context/reply/round-results.ts";
import { runCalls } from "./run-calls.ts";
import type { Conversation, ConversationContext } from "../context/conversation.ts";
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
  /** The user's message. Undefined: the turn answers what has arrived in the transcript, like messages of other agents. */
  readonly text: string | undefined;
  readonly signal: AbortSignal;
  /** Messages that the user sends during the turn; they are added between rounds. */
  readonly queue: string[];
  readonly roundsMax?: number;
}

/**
 * One turn: from the user's message to a reply without calls.
 *
 *   message ──▶ requesting ──reply with calls──▶ calling ──results are in──▶ requesting
 *               requesting ──reply without a call, nothing queued──▶ answered
 *               requesting ──refused for its content, or as too long──▶ simpler: the next rung of the ladder ──▶ requesting
 *               simpler ──no rung is left──▶ failed, or over-limit: the attempts are undone
 *               requesting ──reply cut off over the threshold──▶ compacting ──▶ requesting
 *               requesting ──no request fits──▶ over-limit      requesting ──fails for good──▶ failed
 *               requesting, calling ──abort──▶ aborted: open calls get a synthetic result
 *
 * An end without an answer names a remedy (`unanswered-turn.ts`). The layers reduce the view before each request, never
 * after it. The transcript is complete at every moment: each step is on disk before the next begins.
 */
export async function* runTurn(context: ConversationContext, input: TurnInput): AsyncGenerator<LoopEvent> {
  const { session, baseline, line } = context.conversation;
  const stopped = new AbortController();
  const signal = AbortSignal.any([input.signal, stopped.signal]);
  const turn = new Turn(context, { ...input, signal });
  yield { kind: "turn-start", session, model: baseline.model };
  let isOver = false;
  try {
    const end = yield* turn.run();
    isOver = true;
    const synced = await line.endTurn();
    // A disk may accept the bytes and fail only when they are synced.
    yield { kind: "turn-end", ...(synced.kind === "failed" ? syncFailureEnd(end, synced) : end) };
  } finally {
    // If the caller stops iterating, running work is aborted.
    stopped.abort();
    if (!isOver) await line.settle();
  }
}

type CompleteReply = Extract<ReplyOutcome, { kind: "replied" }>;

/** How a round ended if the turn continues. `again`: the provider refused the request, and the next one is simpler. */
type RoundOutcome = "next" | "again";

class Turn {
  readonly #deps: AgentDeps;
  readonly #conversation: Conversation;
  readonly #input: TurnInput;
  readonly #rounds: Rounds;
  #stopsBlocked = 0;

  constructor(context: ConversationContext, input: TurnInput) {
    this.#deps = context.deps;
    this.#conversation = context.conversation;
    this.#input = input;
    this.#rounds = new Rounds(context, input);
  }

  async *run(): AsyncGenerator<LoopEvent, TurnOutcome> {
    const failedStart = yield* this.#begin();
    if (failedStart !== undefined) return failedStart;
    const { roundsMax = roundsMaxDefault } = this.#input;
    for (let rounds = 0; rounds < roundsMax;) {
      const outcome = yield* this.#round();
      if (outcome === "next") rounds += 1;
      else if (outcome !== "again") return outcome;
    }
    return roundLimitEnd(roundsMax);
  }

  async *#begin(): AsyncGenerator<LoopEvent, TurnOutcome | undefined> {
    const { text } = this.#input;
    const failure = yield* this.#rounds.begin();
    if (failure !== undefined) return writeFailureEnd(failure);
    if (text === undefined) return undefined;
    const hook = yield* this.#fire({ name: "UserPromptSubmit", prompt: text });
    if (this.#input.signal.aborted) return { reason: "aborted" };
    const stopped = hook.blocked ?? hook.stopped;
    if (stopped !== undefined) return hookEnd(stopped.reason);
    const appended = await this.#rounds.say(userDraft(text), ...hook.context.map((context) => contextDraft(context)));
    return appended.kind === "failed" ? writeFailureEnd(appended) : undefined;
  }

  async *#round(): AsyncGenerator<LoopEvent, TurnOutcome | RoundOutcome> {
    const { signal } = this.#input;
    const failedAppend = yield* this.#appendQueue();
    if (failedAppend !== undefined) return failedAppend;
    const prepared = yield* this.#rounds.next();
    if (prepared.kind === "aborted") return this.#endAborted();
    if (prepared.kind === "failed") return writeFailureEnd(prepared);
    if (prepared.kind !== "request") return notSentEnd(prepared);
    yield { kind: "request-start", number: this.#rounds.requests, tokens: prepared.tokens };
    const outcome = yield* askForReply(this.#deps, {
      conversation: this.#conversation,
      assembled: prepared,
      signal,
    });
    if (outcome.kind !== "replied") return yield* this.#handleFailure(outcome);
    const cut = outcome.calls.length > 0 ? undefined : cutReplyEnd(outcome.stopReason);
    if (cut !== undefined) {
      const room = yield* this.#rounds.cut({ ...cut, requestTokens: prepared.tokens });
      return room === "compacted" ? "next" : cut;
    }
    this.#rounds.replied();
    return (yield* outcome.calls.length > 0 ? this.#runCalls(outcome) : this.#handleAnswer()) ?? "next";
  }

  async *#runCalls({ calls }: CompleteReply): AsyncGenerator<LoopEvent, TurnOutcome | undefined> {
    const { signal } = this.#input;
    let stopped: string | undefined;
    const onResult = (result: CallResult): Promise<void> => {
      stopped ??= result.stopped;
      return this.#rounds.result(result);
    };
    yield* runCalls(this.#deps, { conversation: this.#conversation, calls, signal, onResult });
    const failure = yield* this.#rounds.resultsIn();
    if (failure !== undefined) return writeFailureEnd(failure);
    if (signal.aborted) return this.#endAborted();
    this.#rounds.ended(calls.length);
    return stopped === undefined ? undefined : hookEnd(stopped);
  }

  /** Adds messages that the user sent during the turn, inside a reminder that says whose they are. */
  async *#appendQueue(): AsyncGenerator<LoopEvent, TurnOutcome | undefined> {
    for (const text of this.#input.queue.splice(0)) {
      const appended = await this.#rounds.say(draftQueuedMessage(text));
      if (appended.kind === "failed") return writeFailureEnd(appended);
      yield { kind: "message-queued", text };
    }
    return undefined;
  }

  async *#handleAnswer(): AsyncGenerator<LoopEvent, TurnOutcome | undefined> {
    this.#rounds.ended(0);
    if (this.#input.queue.length > 0) return undefined;
    const hook = yield* this.#fire({ name: "Stop", again: this.#stopsBlocked > 0 });
    if (hook.blocked === undefined || hook.stopped !== undefined || this.#stopsBlocked >= stopHooksMax)
      return this.#input.queue.length > 0 ? undefined : { reason: "answered" };
    this.#stopsBlocked += 1;
    const appended = await this.#rounds.say(contextDraft(hook.blocked.reason));
    return appended.kind === "failed" ? writeFailureEnd(appended) : undefined;
  }

  async *#fire(payload: HookPayload): AsyncGenerator<LoopEvent, HookOutcome> {
    const outcome = await this.#deps.hooks.fire({ ...this.#deps.place(), ...payload }, this.#input.signal);
    for (const message of [...outcome.messages, ...outcome.warnings]) yield { kind: "warning", code: "hook", message };
    return outcome;
  }

  async *#handleFailure(
    outcome: Exclude<ReplyOutcome, CompleteReply>,
  ): AsyncGenerator<LoopEvent, TurnOutcome | RoundOutcome> {
    switch (outcome.kind) {
      case "aborted":
        return this.#endAborted();
      case "unwritten":
        return writeFailureEnd(outcome.failure);
      case "failed": {
        await this.#conversation.line.settle();
        const after = yield* this.#rounds.refused(outcome.failure);
        if (this.#input.signal.aborted) return this.#endAborted();
        if (after.kind === "failed") return writeFailureEnd(after);
        return after.kind === "plainer" ? "again" : requestFailureEnd({ ...outcome, tried: after.tried });
      }
    }
  }

  async #endAborted(): Promise<TurnOutcome> {
    const settled = await this.#conversation.line.settle();
    return settled.kind === "failed" ? writeFailureEnd(settled) : { reason: "aborted" };
  }
}

export interface ReplyInput extends PendingRequest {
  readonly signal: AbortSignal;
}

/**
 * Requests one reply until it is complete, or nothing more can be done.
 *
 *   requesting ──block ends──▶ requesting: the previous block is on disk
 *   requesting ──reply ends──▶ replied: its last block goes to disk with the final usage
 *   requesting ──fails, may succeed later──▶ waiting ──▶ requesting: the new reply begins where the broken one began, which
 *                                                       stays in the log, off the path
 *   requesting ──fails for good, or is aborted──▶ over: complete blocks stay on the path
 */
async function* askForReply(deps: ModelCallDeps, input: ReplyInput): AsyncGenerator<LoopEvent, ReplyOutcome> {
  const recorder = new ReplyRecorder(deps, input);
  for (let attempt = 1; ; attempt += 1) {
    const outcome = yield* tryReply(deps, { ...input, recorder });
    if (outcome.kind !== "failed") return outcome;
    const { failure } = outcome;
    if (failure.why === "aborted" || input.signal.aborted) return recorder.keepPartial({ kind: "aborted" });
    const next = nextTry({ failure, attempt, random: deps.random(), limits: deps.retries });
    if (next.kind === "give-up") return recorder.keepPartial({ ...outcome, message: next.message });
    yield { kind: "retry-start", attempt: attempt + 1, afterMs: next.ms, message: failure.message };
    await deps.wait(next.ms, input.signal);
    if (input.signal.aborted) return recorder.keepPartial({ kind: "aborted" });
  }
}

async function* tryReply(
  deps: ModelDep,
  { assembled, signal, recorder }: ReplyInput & { readonly recorder: ReplyRecorder },
): AsyncGenerator<LoopEvent, ReplyOutcome> {
  await recorder.begin();
  for await (const event of deps.model.send(assembled.request, signal)) {
    const outcome = yield* recorder.record(event);
    if (outcome === undefined) continue;
    yield* recorder.finish();
    return outcome;
  }
  throw new Error("a model ended without a reply and without a failure");
}
