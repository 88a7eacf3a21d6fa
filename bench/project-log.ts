import { fillerLines, seeded } from "./made-log.ts";

/** The user sends a message every this many rounds. */
const roundsPerTurn = 10;
const files = 240;

/**
 * Raw lines of project work, with everything that a compaction must not lose: requests of any length, files that are read
 * and changed, commands that fail and succeed later, a todo list. A round has several calls. Deterministic.
 */
export class ProjectLog {
  readonly #random = seeded(11);
  #lines = 0;
  #rounds = 0;
  #parent: string | null = null;

  *round(): Generator<string> {
    const round = this.#rounds;
    this.#rounds += 1;
    if (round % roundsPerTurn === 0) yield this.#line("user", { role: "user", content: this.#request(round) });
    const calls = Array.from({ length: 1 + Math.floor(this.#random() * 3) }, (_, at) => this.#call(round, at));
    yield this.#line("assistant", {
      id: `msg_${round}`,
      role: "assistant",
      content: [{ type: "text", text: fillerLines(this.#chars(200), round) }, ...calls.map(({ use }) => use)],
    });
    for (const { use, result } of calls)
      yield this.#line("user", {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: use.id, ...result }],
      });
  }

  /** The last message of the user, to which nothing has been done yet. */
  request(): string {
    return this.#line("user", { role: "user", content: this.#request(this.#rounds) });
  }

  #request(round: number): string {
    const pasted = this.#random() < 0.1 ? `\n${fillerLines(this.#chars(6_000), round)}` : "";
    return `Request ${round}: go on with src/module-${round % files}.ts, and keep what "value${round}" stands for.${pasted}`;
  }

  #call(round: number, at: number) {
    const id = `toolu_${round}_${at}`;
    const file_path = `src/module-${Math.floor(this.#random() * files)}.ts`;
    const kind = this.#random();
    const use = (name: string, input: object) => ({ type: "tool_use", id, name, input });
    if (kind < 0.3) return { use: use("read", { file_path }), result: { content: this.#text(900, round) } };
    if (kind < 0.45)
      return {
        use: use("edit", { file_path, old_string: "one", new_string: "two" }),
        result: { content: `Edited ${file_path}.` },
      };
    if (kind < 0.55)
      return { use: use("grep", { pattern: `value${round}` }), result: { content: this.#text(300, round) } };
    if (kind < 0.6) return { use: use("todo", { todos: todosAt(round) }), result: { content: "Noted." } };
    const command = `npm test -- module-${Math.floor(this.#random() * files)}`;
    const fails = this.#random() < 0.25;
    const content = fails
      ? `Exit code 1\nError: value${round} is not defined\n${this.#text(300, round)}`
      : this.#text(500, round);
    return { use: use("bash", { command }), result: fails ? { content, is_error: true } : { content } };
  }

  #text(median: number, round: number): string {
    return fillerLines(this.#chars(median), round);
  }

  #chars(median: number): number {
    const normal = Math.sqrt(-2 * Math.log(1 - this.#random())) * Math.cos(2 * Math.PI * this.#random());
    return Math.ceil(Math.min(50_000, median * Math.exp(1.5 * normal)));
  }

  #line(type: string, message: object): string {
    const uuid = `00000000-0000-4000-8000-${String(this.#lines).padStart(12, "0")}`;
    const raw = { parentUuid: this.#parent, isSidechain: false, type, message, uuid };
    this.#lines += 1;
    this.#parent = uuid;
    return JSON.stringify({ ...raw, timestamp: "2026-01-01T00:00:00.000Z" });
  }
}

const todosAt = (round: number): readonly object[] => [
  { content: `Finish what round ${round} began`, status: "in_progress" },
  { content: `Look at module ${round % files} after it`, status: "pending" },
];
