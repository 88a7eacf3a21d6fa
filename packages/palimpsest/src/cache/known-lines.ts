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
    const lines = [...linesIn(block)];
    this.#linesByBlock.set(block, lines);
    return lines;
  }
}

function linesIn(block: Block): Iterable<string> {
  switch (block.type) {
    case "text":
      return longLines(block.text);
    case "tool_use":
      return Object.values(block.input).flatMap((value) => (typeof value === "string" ? [...longLines(value)] : []));
    case "tool_result":
      return longLines(textIn(block)).take(linesIndexedMax);
    default:
      return [];
  }
}

/** Numbers and arrows before a line come from the reading tool, not from the file. */
const numbering = /^\s*\d+(?:→|\t|:|\|)\s?/;

function* longLines(text: string): Generator<string> {
  for (const raw of text.split("\n")) {
    if (raw.length < lineCharsMin) continue;
    const line = raw.replace(numbering, "").trim();
    if (line.length >= lineCharsMin) yield line;
  }
}

function textIn({ content }: ToolResultBlock): string {
  if (content === undefined || typeof content === "string") return content ?? "";
  return content.map((part) => textField(part, "text") ?? "").join("\n");
}
