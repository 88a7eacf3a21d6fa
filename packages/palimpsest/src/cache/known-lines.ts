import type { Block, ToolResultBlock } from "../schema/block.ts";
import { textField } from "../schema/json.ts";
import { lineCharsMin, linesIndexedMax } from "./limits.ts";

/**
 * Lines of blocks that are long enough to be recognised when they are quoted. Each block is read once in its life: a
 * view that is rebuilt holds nearly the same blocks, and so do the views of several runs over one recording.
 */
export class KnownLines {
  readonly #linesByBlock = new WeakMap<Block, readonly string[]>();

  /** Of a result, only the lines that are indexed; of a call, the lines of its input. */
  in(block: Block): readonly string[] {
    const known = this.#linesByBlock.get(block);
    if (known !== undefined) return known;
    const lines = linesIn(block);
    this.#linesByBlock.set(block, lines);
    return lines;
  }
}

function linesIn(block: Block): readonly string[] {
  switch (block.type) {
    case "text":
      return longLines(block.text);
    case "tool_use":
      return Object.values(block.input).flatMap((value) => (typeof value === "string" ? longLines(value) : []));
    case "tool_result":
      return longLines(textIn(block), linesIndexedMax);
    default:
      return [];
  }
}

/** Numbers and arrows before a line come from the reading tool, not from the file. */
const numbering = /^\s*\d+(?:→|\t|:|\|)\s?/;
/** Tells most lines without a number at their first character, which is cheaper than the whole expression. */
const firstLetter = /^[^\s\d]/;

/** Plain loops: it looks at every line of every result. */
function longLines(text: string, countMax = Infinity): readonly string[] {
  const lines: string[] = [];
  for (let start = 0; start <= text.length && lines.length < countMax;) {
    const newline = text.indexOf("\n", start);
    const end = newline === -1 ? text.length : newline;
    if (end - start >= lineCharsMin) {
      const raw = text.slice(start, end);
      const line = (firstLetter.test(raw) ? raw : raw.replace(numbering, "")).trim();
      if (line.length >= lineCharsMin) lines.push(line);
    }
    start = end + 1;
  }
  return lines;
}

function textIn({ content }: ToolResultBlock): string {
  if (content === undefined || typeof content === "string") return content ?? "";
  return content.map((part) => textField(part, "text") ?? "").join("\n");
}
