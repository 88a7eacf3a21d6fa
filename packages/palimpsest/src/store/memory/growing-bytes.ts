/** Bytes that only grow; appending costs the appended bytes on average. What `slice` returned never changes. */
export class GrowingBytes {
  #buffer: Uint8Array = new Uint8Array(1024);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  append(data: Uint8Array): void {
    const needed = this.#size + data.byteLength;
    if (needed > this.#buffer.byteLength) {
      const larger = new Uint8Array(Math.max(needed, 2 * this.#buffer.byteLength));
      larger.set(this.#buffer.subarray(0, this.#size));
      this.#buffer = larger;
    }
    this.#buffer.set(data, this.#size);
    this.#size = needed;
  }

  /** Past slices are copies and keep what they were. */
  fill(value: number, range: { readonly start: number; readonly end: number }): void {
    this.#buffer.fill(value, range.start, Math.min(this.#size, range.end));
  }

  slice(range: { readonly start: number; readonly end: number }): Uint8Array {
    return this.#buffer.slice(Math.max(0, range.start), Math.max(0, Math.min(this.#size, range.end)));
  }
}
