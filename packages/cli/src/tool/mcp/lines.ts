/** Lines of a stream of bytes. What has come of an unfinished one is kept, up to a limit. */
export class Lines {
  readonly #bytesMax: number;
  #open: Buffer[] = [];
  #openBytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Those that end in the chunk; `too-long` where one has grown over the limit, and nothing of it is kept then. */
  add(chunk: Buffer): readonly string[] | "too-long" {
    const lines: string[] = [];
    let rest = chunk;
    for (let at = rest.indexOf(newline); at !== -1; at = rest.indexOf(newline)) {
      this.#open.push(rest.subarray(0, at));
      lines.push(Buffer.concat(this.#open).toString("utf8").replace(/\r$/, ""));
      this.#clear();
      rest = rest.subarray(at + 1);
    }
    this.#open.push(rest);
    this.#openBytes += rest.length;
    if (this.#openBytes <= this.#bytesMax) return lines;
    this.#clear();
    return "too-long";
  }

  #clear(): void {
    this.#open = [];
    this.#openBytes = 0;
  }
}

const newline = 0x0a;
