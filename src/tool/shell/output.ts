/** Bytes of unknown number in bounded memory: the first and the last of them. */
export class Output {
  readonly #halfBytes: number;
  readonly #head: Buffer[] = [];
  #headBytes = 0;
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #leftOutBytes = 0;

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
    // Copied rarely: only when the tail is twice its size.
    if (this.#tailBytes > 2 * this.#halfBytes) this.#cutTail();
  }

  #cutTail(): void {
    const whole = Buffer.concat(this.#tail);
    const over = Math.max(0, whole.length - this.#halfBytes);
    this.#leftOutBytes += over;
    // A copy, so that what is left out can be freed.
    this.#tail = [Buffer.from(whole.subarray(over))];
    this.#tailBytes = whole.length - over;
  }

  get leftOutBytes(): number {
    this.#cutTail();
    return this.#leftOutBytes;
  }

  text(): string {
    this.#cutTail();
    const head = Buffer.concat(this.#head);
    const tail = Buffer.concat(this.#tail);
    if (this.#leftOutBytes === 0) return Buffer.concat([head, tail]).toString("utf8");
    return `${head.toString("utf8")}\n… (${this.#leftOutBytes} bytes left out) …\n${tail.toString("utf8")}`;
  }
}
