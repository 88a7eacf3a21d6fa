import type { Block } from "../schema/block.ts";
import type { KnownLines } from "./known-lines.ts";

/**
 * Finds which of the added blocks another one quotes, by its lines. Only what is said later can quote a block, so lines are
 * read when quotes are looked for: a request may wait for the block to be added.
 */
export class QuoteIndex<Value> {
  readonly #lines: KnownLines;
  readonly #valueByLine = new Map<string, Value>();
  #unread: { readonly block: Block; readonly value: Value }[] = [];

  constructor(lines: KnownLines) {
    this.#lines = lines;
  }

  /** A line that several blocks hold is found as one of the last. */
  add(block: Block, value: Value): void {
    this.#unread.push({ block, value });
  }

  /** A value once for each of its lines that the block holds. */
  *quotedIn(block: Block): Generator<Value> {
    for (const { block: added, value } of this.#unread)
      for (const line of this.#lines.in(added)) this.#valueByLine.set(line, value);
    this.#unread = [];
    if (this.#valueByLine.size === 0) return;
    for (const line of this.#lines.in(block)) {
      const value = this.#valueByLine.get(line);
      if (value !== undefined) yield value;
    }
  }

  clear(): void {
    this.#valueByLine.clear();
    this.#unread = [];
  }
}
