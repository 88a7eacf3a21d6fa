import { type ReplyOutcome, ReplyTaker } from "./reply-taker.ts";
import type { Sending } from "../request/request.ts";
import { brokenStream } from "../../model/failure.ts";
import type { ClockDep } from "../../ports/clock.ts";
import type { IdsDep } from "../../ports/ids.ts";
import type { ModelEvent, ModelFailure } from "../../ports/model.ts";
import type { LoopEvent } from "../../schema/event.ts";
import { badOption } from "../inputs.ts";
import { ContextError, refusedByStore, throwIfFailed } from "../context-error.ts";
import {
  jsonOf,
  type Provider,
  refusalFrom,
  type Reply,
  replyEvents,
  streamAssembly,
  type StreamEvent,
} from "../forms.ts";
import { untilAborted } from "../until-aborted.ts";

export type Replied = Extract<ReplyOutcome, { kind: "replied" }>;

export interface RepliesInput<P extends Provider> {
  readonly provider: P;
  readonly deps: ClockDep & IdsDep;
  /** Runs a generator to its end and passes on its events. */
  readonly drain: <Result>(steps: AsyncGenerator<LoopEvent, Result> | Generator<LoopEvent, Result>) => Promise<Result>;
  readonly signal: AbortSignal;
}

/**
 * Takes the replies to a context's requests, each block into the transcript as it comes.
 *
 *   taking ──its end──▶ replied
 *   taking ──breaks off──▶ broken ──the same request again──▶ taking: the new reply stands beside what came of the old
 *                          broken ──leave()──▶ as before the request: what came stays in the log beside the path
 *                          broken ──keep()──▶ what came whole stays on the path
 */
export class Replies<P extends Provider> {
  readonly #input: RepliesInput<P>;
  #broken: ReplyTaker | undefined;

  constructor(input: RepliesInput<P>) {
    this.#input = input;
  }

  /** The newest reply broke off, and its request may be sent again as it was. */
  get isBroken(): boolean {
    return this.#broken !== undefined;
  }

  async whole(sending: Sending, reply: Reply<P>): Promise<Replied> {
    const { provider, deps } = this.#input;
    const events = replyEvents(provider, reply, deps);
    if (events === undefined) throw badOption(`This is no reply in the form ${provider}.`);
    const taker = await this.#begin(sending);
    return await this.#finish(taker, await this.#takeAll(taker, events));
  }

  /** Where the stream breaks off, its own error is thrown on. */
  async stream(sending: Sending, events: AsyncIterable<StreamEvent<P>>): Promise<Replied> {
    const { provider, deps, signal } = this.#input;
    const taker = await this.#begin(sending);
    const assembly = streamAssembly(provider, deps);
    let outcome: ReplyOutcome | undefined;
    try {
      for await (const event of untilAborted(events, signal)) {
        outcome = await this.#takeAll(taker, assembly.take(jsonOf(event)));
        if (outcome !== undefined) break;
      }
    } catch (error) {
      await this.#breakOff(taker, refusalFrom(provider, deps, error));
      throw error;
    }
    return await this.#finish(taker, outcome ?? (await this.#takeAll(taker, assembly.end())));
  }

  /** For good, before the view or the prefix changes: the conversation goes on where the request stood. */
  async leave(): Promise<void> {
    const taker = this.#broken;
    this.#broken = undefined;
    throwIfFailed(await taker?.leave());
  }

  /** What came whole stays: something is said behind it. */
  keep(): void {
    this.#broken = undefined;
  }

  /** A try behind one that broke off, or that the store refused, takes its place. */
  async #begin(sending: Sending): Promise<ReplyTaker> {
    const taker = this.#broken ?? new ReplyTaker(this.#input.deps, sending);
    this.#broken = taker;
    await taker.begin();
    return taker;
  }

  async #finish(taker: ReplyTaker, ended: ReplyOutcome | undefined): Promise<Replied> {
    const outcome = ended ?? (await this.#breakOff(taker, endedEarly));
    await this.#input.drain(taker.over());
    switch (outcome.kind) {
      case "unwritten":
        throw refusedByStore(outcome.failure);
      case "aborted":
        throw new ContextError("broken-reply", endedEarly.message, { failure: endedEarly });
      case "failed":
        throwIfUnwritten(await taker.keepPartial(outcome));
        throw new ContextError("broken-reply", outcome.message, { failure: outcome.failure });
      case "replied":
        this.#broken = undefined;
        return outcome;
    }
  }

  /** What came of it is paid for and kept. */
  async #breakOff(taker: ReplyTaker, failure: ModelFailure): Promise<ReplyOutcome> {
    const outcome = await this.#takeAll(taker, [{ kind: "failure", failure }]);
    return await taker.keepPartial(outcome ?? { kind: "aborted" });
  }

  async #takeAll(taker: ReplyTaker, events: readonly ModelEvent[]): Promise<ReplyOutcome | undefined> {
    for (const event of events) {
      const outcome = await this.#input.drain(taker.take(event));
      if (outcome !== undefined) return outcome;
    }
    return undefined;
  }
}

function throwIfUnwritten(outcome: ReplyOutcome): void {
  if (outcome.kind === "unwritten") throw refusedByStore(outcome.failure);
}

const endedEarly = brokenStream("The reply broke off before its end. What came whole of it is kept.");
