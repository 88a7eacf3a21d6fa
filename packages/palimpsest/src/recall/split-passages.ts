import { safeCutIndex } from "../text/safe-cut-index.ts";
import { passageChars } from "./limits.ts";

export interface Passage {
  readonly from: number;
  readonly to: number;
}

/** Splits a text into pieces of about a screenful: at the end of a line, else between words, else anywhere. */
export function* splitPassages(text: string): Generator<Passage> {
  for (let from = 0; from < text.length;) {
    const to = cutBefore(text, from);
    yield { from, to };
    from = to;
  }
}

function cutBefore(text: string, from: number): number {
  const limit = from + passageChars;
  if (limit >= text.length) return text.length;
  const line = text.lastIndexOf("\n", limit - 1);
  if (line >= from) return line + 1;
  const word = text.lastIndexOf(" ", limit - 1);
  return word >= from ? word + 1 : safeCutIndex(text, limit);
}
