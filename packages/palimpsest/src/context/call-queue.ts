import { raceAbort } from "../schema/race-abort.ts";
import type { WriteGroup } from "../session/write-group.ts";
import { ContextError, throwIfFailed } from "./context-error.ts";

/** Runs calls one after the other, in their order. Each ends when what it wrote is stored. */
export class CallQueue {
  readonly #closing: AbortSignal;
  readonly #writes: () => WriteGroup;
  #lastCall: Promise<unknown> = Promise.resolve();

  constructor(closing: AbortSignal, writes: () => WriteGroup) {
    this.#closing = closing;
    this.#writes = writes;
  }

  /** A call that is aborted before its turn is not made. */
  run<Result>(call: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    if (this.#closing.aborted) return Promise.reject(new ContextError("closed", "The context is closed."));
    const result = this.#lastCall.then(() => (signal?.aborted === true ? throwAborted() : this.#store(call)));
    this.#lastCall = result.catch(() => undefined);
    return signal === undefined ? result : raceAbort(result, { signal, instead: throwAborted });
  }

  async #store<Result>(call: () => Promise<Result>): Promise<Result> {
    const { result, failure } = await this.#writes().run(call);
    throwIfFailed(failure);
    return result;
  }

  /** Resolves when every call so far has ended. */
  async idle(): Promise<void> {
    await this.#lastCall;
  }
}

function throwAborted(): never {
  throw new ContextError("aborted", "The call was aborted by its signal.");
}
