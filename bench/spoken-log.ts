import { seeded } from "./made-log.ts";

/** Chosen to give as many distinct terms as recorded sessions of this size: 6,000 to 10,500 of 114,000 to 182,000. */
const wordsCount = 3_000;
const namesCount = 5_000;
const pathsCount = 400;
/** Three of four bytes in a recorded log are no texts, but copies of results for a UI, usage and ids. */
const copiesOfResult = 3;
const resultLines = 24;

/** Raw lines of a session with the vocabulary of recorded ones: common and rare words, names made of words, paths. Deterministic. */
export class SpokenLog {
  readonly #random = seeded(11);
  readonly #words = Array.from({ length: wordsCount }, (_, at) => createWord(at));
  readonly #names = Array.from({ length: namesCount }, () => {
    const [first, second] = [this.#pick(this.#words), this.#pick(this.#words)];
    return `${first}${second.slice(0, 1).toUpperCase()}${second.slice(1)}`;
  });
  readonly #paths = Array.from(
    { length: pathsCount },
    () => `src/${this.#pick(this.#words)}/${this.#pick(this.#names)}.ts`,
  );
  #count = 0;

  *round(): Generator<string> {
    const round = this.#count;
    const id = `toolu_${round}`;
    yield this.#line("assistant", {
      id: `msg_${round}`,
      role: "assistant",
      content: [
        { type: "text", text: this.#prose(25) },
        { type: "tool_use", id, name: "Read", input: { file_path: this.#pick(this.#paths) } },
      ],
    });
    const result = Array.from({ length: Math.ceil(2 * resultLines * this.#random()) }, () => this.#code()).join("\n");
    yield this.#line(
      "user",
      { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: result }] },
      { toolUseResult: Array.from({ length: copiesOfResult }, () => result) },
    );
  }

  /** Picks a text by Zipf's law: the earlier ones more often. */
  #pick(texts: readonly string[]): string {
    return texts[Math.floor(texts.length ** this.#random()) - 1] ?? "";
  }

  #prose(count: number): string {
    return Array.from({ length: count }, () => this.#pick(this.#words)).join(" ");
  }

  #code(): string {
    const number = Math.floor(1_000 * this.#random());
    const name = this.#pick(this.#names);
    return this.#random() < 0.7
      ? `${number}→  const ${name} = ${this.#pick(this.#names)}(${number}); // ${this.#prose(4)}`
      : `${number}→import { ${name} } from "${this.#pick(this.#paths)}";`;
  }

  #line(type: string, message: object, more: object = {}): string {
    const uuid = `00000000-0000-4000-8000-${String(this.#count).padStart(12, "0")}`;
    this.#count += 1;
    return JSON.stringify({ type, uuid, timestamp: "2026-01-01T00:00:00.000Z", message, ...more });
  }
}

const consonants = "bdfgklmnprstvz";
const vowels = "aeiou";

/** A word of two to four syllables; different numbers give different words. */
function createWord(number: number): string {
  let word = "";
  for (let left = number + consonants.length * vowels.length; left > 0; left = Math.floor(left / 70))
    word += (consonants[left % 14] ?? "") + (vowels[Math.floor(left / 14) % 5] ?? "");
  return word;
}
