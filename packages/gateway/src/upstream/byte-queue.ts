/** Bytes from one producer for one consumer. */
export class ByteQueue implements AsyncIterableIterator<Uint8Array> {
  readonly #chunks: Uint8Array[] = [];
  readonly #onTake: () => void;
  readonly #onCancel: () => void;
  #bytes = 0;
  #end: { readonly error: Error | undefined } | undefined;
  #waiting: PromiseWithResolvers<IteratorResult<Uint8Array>> | undefined;

  /** `onTake`: the consumer has taken a chunk. `onCancel`: it wants no more, before the end. */
  constructor({ onTake, onCancel }: { readonly onTake: () => void; readonly onCancel: () => void }) {
    this.#onTake = onTake;
    this.#onCancel = onCancel;
  }

  /** Bytes that the consumer has not taken yet. */
  get bytes(): number {
    return this.#bytes;
  }

  push(chunk: Uint8Array): void {
    if (this.#end !== undefined) return;
    const waiting = this.#waiting;
    if (waiting !== undefined) {
      this.#waiting = undefined;
      waiting.resolve({ done: false, value: chunk });
      return;
    }
    this.#chunks.push(chunk);
    this.#bytes += chunk.byteLength;
  }

  /** With an error, the consumer first gets what is queued, then the error. */
  end(error?: Error): void {
    if (this.#end !== undefined) return;
    this.#end = { error };
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    this.#waiting = undefined;
    if (error === undefined) waiting.resolve({ done: true, value: undefined });
    else waiting.reject(error);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    if (this.#chunks.length > 0) {
      const value = this.#takeAll();
      this.#onTake();
      return Promise.resolve({ done: false, value });
    }
    if (this.#end?.error !== undefined) return Promise.reject(this.#end.error);
    if (this.#end !== undefined) return Promise.resolve({ done: true, value: undefined });
    this.#waiting = Promise.withResolvers();
    return this.#waiting.promise;
  }

  /** As one chunk: what a consumer does for each costs more than a copy of some events. */
  #takeAll(): Uint8Array {
    const [first = new Uint8Array()] = this.#chunks;
    const all = this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks);
    this.#chunks.length = 0;
    this.#bytes = 0;
    return all;
  }

  return(): Promise<IteratorResult<Uint8Array>> {
    const isEarly = this.#end === undefined;
    this.#end ??= { error: undefined };
    this.#chunks.length = 0;
    this.#bytes = 0;
    if (isEarly) this.#onCancel();
    return Promise.resolve({ done: true, value: undefined });
  }
}
