import { raceAbort } from "../schema/race-abort.ts";
import { ContextError } from "./context-error.ts";

/** Runs calls one after the other, in their order. */
export class CallQueue {
  readonly #closing: AbortSignal;
  #lastCall: Promise<unknown> = Promise.resolve();

  constructor(closing: AbortSignal) {
    this.#closing = closing;
  }

  /** A call that is aborted before its turn is not made. */
  run<Result>(call: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    if (this.#closing.aborted) return Promise.reject(new ContextError("closed", "The context is closed."));
    const result = this.#lastCall.then(() => (signal?.aborted === true ? throwAborted() : call()));
    this.#lastCall = result.catch(() => undefined);
    return signal === undefined ? result : raceAbort(result, { signal, instead: throwAborted });
  }

  /** Resolves when every call so far has ended. */
  async idle(): Promise<void> {
    await this.#lastCall;
  }
}

function throwAborted(): never {
  throw new ContextError("aborted", "The call was aborted by its signal.");
}
