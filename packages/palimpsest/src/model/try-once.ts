import type { Millis } from "../schema/brand.ts";
import type { ModelEvent, ModelFailure } from "../ports/model-port.ts";
import { brokenStream, abortedFailure, timeoutFailure } from "./failure.ts";
import { lingerMillisMax, timerMillisMax } from "./limits.ts";

interface TryOnceInput {
  readonly signal: AbortSignal;
  /** The longest silence before the response starts and between two chunks of it. */
  readonly silenceMs: Millis;
  readonly ask: (signal: AbortSignal) => Promise<Response>;
  readonly read: (response: Response) => AsyncIterable<ModelEvent>;
  readonly classify: (error: unknown) => ModelFailure;
}

/**
 * Implements the contract of `ModelPort.send` for any client: never rejects, ends with exactly one of `reply-end` and
 * `failure`. `read` must yield nothing after either of them, but must read the response to its end.
 */
export async function* tryOnce({ signal, silenceMs, ask, read, classify }: TryOnceInput): AsyncGenerator<ModelEvent> {
  const waiter = new ResponseWaiter(signal, silenceMs);
  let isAnswered = false;
  let isOver = false;
  try {
    const response = await waiter.until(ask(waiter.signal));
    isAnswered = true;
    for await (const event of read(waiter.watch(response))) {
      // Events that were buffered before the abort are dropped.
      if (waiter.failure !== undefined) break;
      isOver = event.kind === "reply-end" || event.kind === "failure";
      if (isOver) waiter.linger();
      yield event;
    }
    if (!isOver) yield { kind: "failure", failure: waiter.failure ?? brokenStream("The reply broke off.") };
  } catch (error) {
    if (isOver) return;
    const failure = waiter.failure ?? classify(error);
    // A connection that fails during the reply is a broken stream.
    const isBroken = isAnswered && failure.why === "network";
    yield { kind: "failure", failure: isBroken ? brokenStream(`The reply broke off. ${failure.message}`) : failure };
  } finally {
    waiter.close();
  }
}

/**
 * Waits for a server until the caller aborts or nothing has come for too long. Time in which the caller does not read does
 * not count as silence. Supports one wait at a time.
 */
class ResponseWaiter {
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal;
  readonly #silenceMs: Millis;
  readonly #onAbort = (): void => this.#end(abortedFailure);
  #failure: ModelFailure | undefined;
  #rejectWait: ((why: Error) => void) | undefined;
  #lingerTimer: NodeJS.Timeout | undefined;

  constructor(caller: AbortSignal, silenceMs: Millis) {
    this.#caller = caller;
    this.#silenceMs = silenceMs;
    if (caller.aborted) this.#end(abortedFailure);
    else caller.addEventListener("abort", this.#onAbort, { once: true });
  }

  /** For the request: aborted when the wait ends. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Why the wait ended early; undefined if it did not. */
  get failure(): ModelFailure | undefined {
    return this.#failure;
  }

  /** Rejects at once when the wait ends, even if the pending work ignores the signal. */
  until<T>(pending: Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#rejectWait = reject;
    const onTimeout = (): void => this.#end(timeoutFailure(this.#silenceMs));
    const timer = setTimeout(onTimeout, Math.min(this.#silenceMs, timerMillisMax));
    pending.then(resolve, reject);
    if (this.#failure !== undefined) reject(new Error(this.#failure.message));
    return promise.finally(() => clearTimeout(timer));
  }

  /** The same response, with a body that waits for each chunk through `until`. */
  watch(response: Response): Response {
    if (response.body === null) return response;
    const reader: ReadableStreamDefaultReader<Uint8Array> = response.body.getReader();
    const body = new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          try {
            const next = await this.until(reader.read());
            if (next.done) controller.close();
            else controller.enqueue(next.value);
          } catch (error) {
            controller.error(error);
            // The source must learn that the body is no longer read, even if it ignores the signal.
            await reader.cancel(error).catch(() => undefined);
          }
        },
        cancel: (reason) => reader.cancel(reason),
      },
      { highWaterMark: 0 },
    );
    return new Response(body, { status: response.status, headers: response.headers });
  }

  /** The reply is complete: from now on the wait for the rest is short. */
  linger(): void {
    this.#lingerTimer ??= setTimeout(() => this.#end(timeoutFailure(this.#silenceMs)), lingerMillisMax);
  }

  /** Stops waiter to the caller's signal and aborts the request if it still runs. */
  close(): void {
    clearTimeout(this.#lingerTimer);
    this.#caller.removeEventListener("abort", this.#onAbort);
    this.#controller.abort();
  }

  #end(failure: ModelFailure): void {
    this.#failure ??= failure;
    this.#rejectWait?.(new Error(failure.message));
    this.#controller.abort();
  }
}
