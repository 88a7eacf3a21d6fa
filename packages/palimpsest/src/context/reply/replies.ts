import { type ReplyOutcome, ReplyRecorder } from "./reply-recorder.ts";
import type { PendingRequest } from "../request/assemble-request.ts";
import { brokenStream } from "../../model/failure.ts";
import type { ClockDep, IdsDep } from "../../ports/clock-dep.ts";
import type { ModelEvent, ModelFailure } from "../../ports/model-port.ts";
import type { JsonObject } from "../../schema/json.ts";
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
import { ParsedEvents } from "./parsed-events.ts";

export type CompleteReply = Extract<ReplyOutcome, { kind: "replied" }>;

interface RepliesInput<P extends Provider> {
  readonly provider: P;
  readonly deps: ClockDep & IdsDep;
  /** Runs a generator to its end and emits its events. */
  readonly drain: <Result>(steps: AsyncGenerator<LoopEvent, Result> | Generator<LoopEvent, Result>) => Promise<Result>;
  readonly signal: AbortSignal;
}

/**
 * Records the replies to a context's requests, each block as it arrives.
 *
 *   recording ──complete──▶ replied
 *   recording ──breaks off──▶ broken ──the same request again──▶ recording: the new reply is a branch next to the old one
 *                             broken ──leave()──▶ as before the request: the old blocks stay in the log, off the path
 *                             broken ──keep()──▶ complete blocks stay on the path
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

  async whole(pending: PendingRequest, reply: Reply<P>): Promise<CompleteReply> {
    const { provider, deps } = this.#input;
    const events = replyEvents(provider, reply, deps);
    if (events === undefined) throw badOptionError(`This is not a reply in the format ${provider}.`);
    const recorder = await this.#begin(pending);
    return await this.#finish(recorder, await this.#recordAll(recorder, events));
  }

  /** If the stream breaks off, its own error is rethrown; if its blocks can't be stored either, that error is the cause. */
  async stream(pending: PendingRequest, events: AsyncIterable<StreamEvent<P>>): Promise<CompleteReply> {
    const { provider, deps, signal } = this.#input;
    const recorder = await this.#begin(pending);
    const assembly = streamAssembly(provider, deps);
    let outcome: ReplyOutcome | undefined;
    try {
      for await (const event of events instanceof ParsedEvents ? events.events : untilAborted(events, signal)) {
        outcome = await this.#recordAll(recorder, assembly.take(event));
        if (outcome !== undefined) break;
      }
    } catch (error) {
      const kept = await this.#breakOff(recorder, classifyRefusal(provider, deps, error));
      await this.#input.drain(recorder.finish());
      if (kept.kind === "unwritten") throw storeError(kept.failure, { cause: error });
      throw error;
    }
    return await this.#finish(recorder, outcome ?? (await this.#recordAll(recorder, assembly.end())));
  }

  /** Abandons a broken reply, before the view or the prefix changes: the conversation continues from before the request. */
  async leave(): Promise<void> {
    const recorder = this.#broken;
    this.#broken = undefined;
    throwIfFailed(await recorder?.abandon());
  }

  /** Keeps the complete blocks of a broken reply: a message follows them. */
  keep(): void {
    this.#broken = undefined;
  }

  /** A new try replaces one that broke off or that the store refused. */
  async #begin(pending: PendingRequest): Promise<ReplyRecorder> {
    const recorder = this.#broken ?? new ReplyRecorder(this.#input.deps, pending);
    this.#broken = recorder;
    await recorder.begin();
    return recorder;
  }

  async #finish(recorder: ReplyRecorder, ended: ReplyOutcome | undefined): Promise<CompleteReply> {
    const outcome = ended ?? (await this.#breakOff(recorder, endedEarly));
    await this.#input.drain(recorder.finish());
    switch (outcome.kind) {
      case "unwritten":
        throw storeError(outcome.failure);
      case "aborted":
        throw new ContextError("broken-reply", endedEarly.message, { failure: endedEarly });
      case "failed":
        throwIfUnwritten(await recorder.keepPartial(outcome));
        throw new ContextError("broken-reply", outcome.message, { failure: outcome.failure });
      case "replied":
        this.#broken = undefined;
        return outcome;
    }
  }

  /** The blocks so far are paid for and kept. */
  async #breakOff(recorder: ReplyRecorder, failure: ModelFailure): Promise<ReplyOutcome> {
    const outcome = await this.#recordAll(recorder, [{ kind: "failure", failure }]);
    return await recorder.keepPartial(outcome ?? { kind: "aborted" });
  }

  async #recordAll(recorder: ReplyRecorder, events: readonly ModelEvent[]): Promise<ReplyOutcome | undefined> {
    for (const event of events) {
      const outcome = await this.#input.drain(recorder.record(event));
      if (outcome !== undefined) return outcome;
    }
    return undefined;
  }
}

function throwIfUnwritten(outcome: ReplyOutcome): void {
  if (outcome.kind === "unwritten") throw storeError(outcome.failure);
}

const endedEarly = brokenStream("The reply broke off before its end. Its complete blocks are kept.");

/** The same values as JSON, until the signal is aborted, even while the source is silent. */
async function* untilAborted(source: AsyncIterable<object>, signal: AbortSignal): AsyncGenerator<JsonObject> {
  const iterator = source[Symbol.asyncIterator]();
  const aborted = Promise.withResolvers<"aborted">();
  const onAbort = (): void => aborted.resolve("aborted");
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), aborted.promise]);
      if (next === "aborted" || next.done === true) return;
      yield toJsonObject(next.value);
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    // Not awaited: a source that hangs would block the caller.
    iterator.return?.().catch(() => undefined);
  }
}
