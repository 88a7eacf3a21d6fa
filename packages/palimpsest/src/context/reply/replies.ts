import { type ReplyOutcome, ReplyRecorder } from "./reply-recorder.ts";
import type { PendingRequest } from "../request/assemble-request.ts";
import { brokenStream } from "../../model/failure.ts";
import type { ClockDep, IdsDep } from "../../ports/clock-dep.ts";
import type { ModelEvent, ModelFailure } from "../../ports/model-port.ts";
import type { LoopEvent } from "../../schema/loop-event.ts";
import { badOptionError } from "../inputs.ts";
import { ContextError, storeError, throwIfFailed } from "../context-error.ts";
import {
  toJsonObject,
  type Provider,
  classifyRefusal,
  type Reply,
  replyEvents,
  streamAssembly,
  type StreamEvent,
} from "../provider-formats.ts";

export type CompleteReply = Extract<ReplyOutcome, { kind: "replied" }>;

interface RepliesInput<P extends Provider> {
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
  #broken: ReplyRecorder | undefined;

  constructor(input: RepliesInput<P>) {
    this.#input = input;
  }

  /** The newest reply broke off, and its request may be sent again as it was. */
  get isBroken(): boolean {
    return this.#broken !== undefined;
  }

  async whole(sending: PendingRequest, reply: Reply<P>): Promise<CompleteReply> {
    const { provider, deps } = this.#input;
    const events = replyEvents(provider, reply, deps);
    if (events === undefined) throw badOptionError(`This is no reply in the form ${provider}.`);
    const taker = await this.#begin(sending);
    return await this.#finish(taker, await this.#takeAll(taker, events));
  }

  /** Where the stream breaks off, its own error is thrown on. */
  async stream(sending: PendingRequest, events: AsyncIterable<StreamEvent<P>>): Promise<CompleteReply> {
    const { provider, deps, signal } = this.#input;
    const taker = await this.#begin(sending);
    const assembly = streamAssembly(provider, deps);
    let outcome: ReplyOutcome | undefined;
    try {
      for await (const event of untilAborted(events, signal)) {
        outcome = await this.#takeAll(taker, assembly.take(toJsonObject(event)));
        if (outcome !== undefined) break;
      }
    } catch (error) {
      await this.#breakOff(taker, classifyRefusal(provider, deps, error));
      throw error;
    }
    return await this.#finish(taker, outcome ?? (await this.#takeAll(taker, assembly.end())));
  }

  /** For good, before the view or the prefix changes: the conversation goes on where the request stood. */
  async leave(): Promise<void> {
    const taker = this.#broken;
    this.#broken = undefined;
    throwIfFailed(await taker?.abandon());
  }

  /** What came whole stays: something is said behind it. */
  keep(): void {
    this.#broken = undefined;
  }

  /** A try behind one that broke off, or that the store refused, takes its place. */
  async #begin(sending: PendingRequest): Promise<ReplyRecorder> {
    const taker = this.#broken ?? new ReplyRecorder(this.#input.deps, sending);
    this.#broken = taker;
    await taker.begin();
    return taker;
  }

  async #finish(taker: ReplyRecorder, ended: ReplyOutcome | undefined): Promise<CompleteReply> {
    const outcome = ended ?? (await this.#breakOff(taker, endedEarly));
    await this.#input.drain(taker.finish());
    switch (outcome.kind) {
      case "unwritten":
        throw storeError(outcome.failure);
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
  async #breakOff(taker: ReplyRecorder, failure: ModelFailure): Promise<ReplyOutcome> {
    const outcome = await this.#takeAll(taker, [{ kind: "failure", failure }]);
    return await taker.keepPartial(outcome ?? { kind: "aborted" });
  }

  async #takeAll(taker: ReplyRecorder, events: readonly ModelEvent[]): Promise<ReplyOutcome | undefined> {
    for (const event of events) {
      const outcome = await this.#input.drain(taker.record(event));
      if (outcome !== undefined) return outcome;
    }
    return undefined;
  }
}

function throwIfUnwritten(outcome: ReplyOutcome): void {
  if (outcome.kind === "unwritten") throw storeError(outcome.failure);
}

const endedEarly = brokenStream("The reply broke off before its end. What came whole of it is kept.");

/** The same values, until the signal is raised: whoever waits for a source that says nothing is let go. */
async function* untilAborted<Value>(source: AsyncIterable<Value>, signal: AbortSignal): AsyncGenerator<Value> {
  const iterator = source[Symbol.asyncIterator]();
  const aborted = Promise.withResolvers<"aborted">();
  const onAbort = (): void => aborted.resolve("aborted");
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), aborted.promise]);
      if (next === "aborted" || next.done === true) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    // Not waited for: a source that hangs would keep who lets it go.
    iterator.return?.().catch(() => undefined);
  }
}
