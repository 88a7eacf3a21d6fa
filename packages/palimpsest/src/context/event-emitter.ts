import type { ContextEvent } from "./outcomes.ts";

/** Yields events as they happen. */
type Steps<Result> = AsyncGenerator<ContextEvent, Result> | Generator<ContextEvent, Result>;

/** Passes events to the caller's listener. */
export class EventEmitter {
  readonly #listener: ((event: ContextEvent) => void) | undefined;

  constructor(listener: ((event: ContextEvent) => void) | undefined) {
    this.#listener = listener;
  }

  /** Runs a generator to its end and emits its events. */
  async drain<Result>(steps: Steps<Result>): Promise<Result> {
    for (;;) {
      const step = await steps.next();
      if (step.done === true) return step.value;
      this.#emit(step.value);
    }
  }

  /** A listener that throws must not keep anything from being stored, so its error is thrown outside of the call. */
  #emit(event: ContextEvent): void {
    try {
      this.#listener?.(event);
    } catch (error) {
      queueMicrotask(() => {
        throw error;
      });
    }
  }
}
