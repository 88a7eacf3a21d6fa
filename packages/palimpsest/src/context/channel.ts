/** A queue with several producers and one consumer, first in, first out. */
export class Channel<Value> implements AsyncIterable<Value> {
  readonly #waiting: Value[] = [];
  #wake: (() => void) | undefined;
  #closed = false;

  put(value: Value): void {
    this.#waiting.push(value);
    this.#wake?.();
  }

  /** Values that are already queued are still delivered. */
  close(): void {
    this.#closed = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Value> {
    for (;;) {
      const next = this.#waiting.shift();
      if (next !== undefined) yield next;
      else if (this.#closed) return;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }
}
