import type { Millis } from "../schema/brand.ts";
import type { ModelEvent, ModelFailure } from "../ports/model-port.ts";
import { brokenStream, abortedFailure, timeoutFailure } from "./failure.ts";
import { lingerMillisMax, timerMillisMax } from "./limits.ts";

interface TryOnceInput {
  readonly signal: AbortSignal;
  /** The longest silence: before the answer begins, and between two pieces of it. */
  readonly silenceMs: Millis;
  readonly ask: (signal: AbortSignal) => Promise<Response>;
  readonly read: (response: Response) => AsyncIterable<ModelEvent>;
  readonly classify: (error: unknown) => ModelFailure;
}

/**
 * The promise of `ModelPort.send`, for any client: never rejects, ends with exactly one of `reply-end` and `failure`.
 * `read` says nothing after either of them, but reads on.
 */
export async function* tryOnce({ signal, silenceMs, ask, read, classify }: TryOnceInput): AsyncGenerator<ModelEvent> {
  const listening = new ResponseWaiter(signal, silenceMs);
  let isAnswered = false;
  let isOver = false;
  try {
    const response = await listening.until(ask(listening.signal));
    isAnswered = true;
    for await (const event of read(listening.watch(response))) {
      // What came before the abort, and was not read, is not news any more.
      if (listening.failure !== undefined) break;
      isOver = event.kind === "reply-end" || event.kind === "failure";
      if (isOver) listening.linger();
      yield event;
    }
    if (!isOver) yield { kind: "failure", failure: listening.failure ?? brokenStream("The reply broke off.") };
  } catch (error) {
    if (isOver) return;
    const failure = listening.failure ?? classify(error);
    // A connection that fails while a reply comes has failed as a stream.
    const isBroken = isAnswered && failure.why === "network";
    yield { kind: "failure", failure: isBroken ? brokenStream(`The reply broke off. ${failure.message}`) : failure };
  } finally {
    listening.close();
  }
}

/**
 * Waits for a server no longer than anybody wants to: until the caller aborts, or nothing has come for too long. Time in
 * which nobody reads does not count as silence. One wait at a time.
 */
class ResponseWaiter {
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal;
  readonly #silenceMs: Millis;
  readonly #onAbort = (): void => this.#end(abortedFailure);
  #failure: ModelFailure | undefined;
  #leave: ((why: Error) => void) | undefined;
  #lingering: NodeJS.Timeout | undefined;

  constructor(caller: AbortSignal, silenceMs: Millis) {
    this.#caller = caller;
    this.#silenceMs = silenceMs;
    if (caller.aborted) this.#end(abortedFailure);
    else caller.addEventListener("abort", this.#onAbort, { once: true });
  }

  /** For whoever does the work: raised when nobody waits any more. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Why the wait ended early; undefined where it did not. */
  get failure(): ModelFailure | undefined {
    return this.#failure;
  }

  /** Rejects at once when the wait ends, whether or not the work heeds the signal. */
  until<T>(coming: Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#leave = reject;
    const late = (): void => this.#end(timeoutFailure(this.#silenceMs));
    const timer = setTimeout(late, Math.min(this.#silenceMs, timerMillisMax));
    coming.then(resolve, reject);
    if (this.#failure !== undefined) reject(new Error(this.#failure.message));
    return promise.finally(() => clearTimeout(timer));
  }

  /** The same response, its bytes waited for like this. */
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
            // Whoever made the bytes must hear that nobody reads them, even one that knows no signal.
            await reader.cancel(error).catch(() => undefined);
          }
        },
        cancel: (reason) => reader.cancel(reason),
      },
      { highWaterMark: 0 },
    );
    return new Response(body, { status: response.status, headers: response.headers });
  }

  /** All that matters has come: what is left is waited for only briefly. */
  linger(): void {
    this.#lingering ??= setTimeout(() => this.#end(timeoutFailure(this.#silenceMs)), lingerMillisMax);
  }

  /** Lets go of the caller's signal and of whatever still runs. */
  close(): void {
    clearTimeout(this.#lingering);
    this.#caller.removeEventListener("abort", this.#onAbort);
    this.#controller.abort();
  }

  #end(failure: ModelFailure): void {
    this.#failure ??= failure;
    this.#leave?.(new Error(failure.message));
    this.#controller.abort();
  }
}
