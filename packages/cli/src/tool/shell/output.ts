/** Bytes of unknown number in bounded memory: the first and the last of them, and at most one chunk more. */
export class Output {
  readonly #halfBytes: number;
  readonly #head: Buffer[] = [];
  #headBytes = 0;
  /** The last half, from somewhere in its first chunk on. */
  readonly #tail: Buffer[] = [];
  #tailBytes = 0;
  /** In chunks that have left the tail. */
  #droppedBytes = 0;

  constructor(bytesMax: number) {
    this.#halfBytes = Math.floor(bytesMax / 2);
  }

  add(chunk: Buffer): void {
    const room = this.#halfBytes - this.#headBytes;
    const head = chunk.subarray(0, room);
    if (head.length > 0) {
      this.#head.push(head);
      this.#headBytes += head.length;
    }
    const rest = chunk.subarray(head.length);
    if (rest.length === 0) return;
    this.#tail.push(rest);
    this.#tailBytes += rest.length;
    this.#dropFront();
  }

  /** Whole chunks only, so that nothing is copied while the output runs. */
  #dropFront(): void {
    for (let [first] = this.#tail; first !== undefined; [first] = this.#tail) {
      if (this.#tailBytes - first.length < this.#halfBytes) return;
      this.#tail.shift();
      this.#tailBytes -= first.length;
      this.#droppedBytes += first.length;
    }
  }

  /** Of the first chunk of the tail: what has left the half. */
  get #overBytes(): number {
    return Math.max(0, this.#tailBytes - this.#halfBytes);
  }

  get leftOutBytes(): number {
    return this.#droppedBytes + this.#overBytes;
  }

  /** Costs a copy of what is kept, and the text. */
  text(): string {
    const { leftOutBytes } = this;
    if (leftOutBytes === 0) return Buffer.concat([...this.#head, ...this.#tail]).toString("utf8");
    const head = Buffer.concat(this.#head).toString("utf8");
    const tail = Buffer.concat(this.#tail).subarray(this.#overBytes).toString("utf8");
    return `${head}\n… (${leftOutBytes} bytes left out) …\n${tail}`;
  }

  /** In memory now. */
  get heldBytes(): number {
    return this.#headBytes + this.#tailBytes;
  }
}
