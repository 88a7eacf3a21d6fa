/** Sizes of results as in recorded sessions: half are under 312 characters, a tenth over 4,500, a hundredth over 26,000. */
const medianChars = 312;
const sigma = 2;
/** Longer results are offloaded. */
const charsMax = 50_000;
/** The user sends a message every this many rounds. */
const roundsPerTurn = 12;

/** Raw lines of a session like recorded ones: files are read, changed some rounds later and read again, and commands run. Deterministic. */
export class MadeLog {
  readonly #random = seeded(7);
  #lines = 0;
  #rounds = 0;
  #parent: string | null = null;

  *round(): Generator<string> {
    const round = this.#rounds;
    this.#rounds += 1;
    if (round % roundsPerTurn === 0) yield this.#line("user", { message: { role: "user", content: `Step ${round}.` } });
    const id = `toolu_${round}`;
    const { name, input } = this.#call(round);
    const text = fillerLines(this.#chars(200, 1), round);
    const content = [
      { type: "text", text },
      { type: "tool_use", id, name, input },
    ];
    yield this.#line("assistant", { message: { id: `msg_${round}`, role: "assistant", content } });
    const result = fillerLines(this.#chars(medianChars, sigma), round);
    const results = [{ type: "tool_result", tool_use_id: id, content: result }];
    yield this.#line("user", { message: { role: "user", content: results } });
  }

  clear(results: readonly string[]): string {
    const shown = "[Old tool result content cleared]";
    return this.#line("clear", { cause: "price", results: results.map((toolUse) => ({ toolUse, shown })) });
  }

  #call(round: number): { readonly name: string; readonly input: object } {
    const file_path = `src/file-${Math.floor(round / 8) % 97}.ts`;
    const kind = this.#random();
    if (kind < 0.3) return { name: "Read", input: { file_path } };
    if (kind < 0.45) return { name: "Edit", input: { file_path, old_string: "one", new_string: "two" } };
    if (kind < 0.55) return { name: "Grep", input: { pattern: `name${round}` } };
    return { name: "Bash", input: { command: `npm test -- ${round}` } };
  }

  #chars(median: number, spread: number): number {
    const normal = Math.sqrt(-2 * Math.log(1 - this.#random())) * Math.cos(2 * Math.PI * this.#random());
    return Math.ceil(Math.min(charsMax, median * Math.exp(spread * normal)));
  }

  #line(type: string, fields: object): string {
    const uuid = `00000000-0000-4000-8000-${String(this.#lines).padStart(12, "0")}`;
    const raw = { parentUuid: this.#parent, isSidechain: false, type, ...fields, uuid };
    this.#lines += 1;
    this.#parent = uuid;
    return JSON.stringify({ ...raw, timestamp: "2026-01-01T00:00:00.000Z" });
  }
}

/** Lines of about 60 characters; no two in a session are equal. */
export function fillerLines(chars: number, seed: number): string {
  const lines: string[] = [];
  for (let left = chars, line = 0; left > 0; line += 1) {
    const text = `${seed}.${line} const value = compute(input, "some text in a file") // why`;
    lines.push(text.slice(0, left));
    left -= text.length + 1;
  }
  return lines.join("\n");
}

/** Mulberry32. */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
