import type { HookMoment, HookOutcome } from "../ports/hooks.ts";
import type { LoopEvent, TurnOutcome } from "../schema/event.ts";
import { userDraft } from "../transcript/draft.ts";
import { roundsMax as roundsMaxDefault, stopHooksMax } from "./limits.ts";
import type { CallResult } from "../context/reply/results.ts";
import { runCalls } from "./calls.ts";
import type { Conversation } from "../context/conversation.ts";
import type { AgentDeps } from "../context/deps.ts";
import { Rounds } from "../context/rounds.ts";
import { askForReply } from "./reply.ts";
import type { ReplyOutcome } from "../context/reply/reply-taker.ts";
import { contextDraft, queuedDraft } from "../context/reminders.ts";
import {
  cutReplyEnd,
  endUnsynced,
  failedRequestEnd,
  roundLimitEnd,
  hookEnd,
  unsentEnd,
  writeFailureEnd,
} from "../context/turn-ends.ts";

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
    yield { kind: "turn-end", ...(synced.kind === "failed" ? endUnsynced(end, synced) : end) };
  } finally {
    // Who stops listening wants nothing more to happen.
    leave.abort();
    if (!isOver) await input.conversation.line.settle();
  }
}

type Replied = Extract<ReplyOutcome, { kind: "replied" }>;

/** How a round ended where the turn goes on. `again`: the provider refused the request, and the next one is plainer. */
type GoesOn = "next" | "again";

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

  async *#round(): AsyncGenerator<LoopEvent, TurnOutcome | GoesOn> {
    const { conversation, signal } = this.#input;
    const drained = yield* this.#drain();
    if (drained !== undefined) return drained;
    const prepared = yield* this.#rounds.next();
    if (prepared.kind === "aborted") return this.#aborted();
    if (prepared.kind === "failed") return writeFailureEnd(prepared);
    if (prepared.kind !== "request") return unsentEnd(prepared);
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

  async *#call({ calls }: Replied): AsyncGenerator<LoopEvent, TurnOutcome | undefined> {
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
      const appended = await this.#rounds.say(queuedDraft(text));
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

  async *#fire(moment: HookMoment): AsyncGenerator<LoopEvent, HookOutcome> {
    const outcome = await this.#deps.hooks.fire({ ...this.#deps.place(), ...moment }, this.#input.signal);
    for (const message of [...outcome.messages, ...outcome.warnings]) yield { kind: "warning", code: "hook", message };
    return outcome;
  }

  async *#over(outcome: Exclude<ReplyOutcome, Replied>): AsyncGenerator<LoopEvent, TurnOutcome | GoesOn> {
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
        return after.kind === "plainer" ? "again" : failedRequestEnd({ ...outcome, tried: after.tried });
      }
    }
  }

  async #aborted(): Promise<TurnOutcome> {
    const settled = await this.#input.conversation.line.settle();
    return settled.kind === "failed" ? writeFailureEnd(settled) : { reason: "aborted" };
  }
}
