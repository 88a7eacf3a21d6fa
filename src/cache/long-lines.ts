import { lineCharsMin } from "./limits.ts";

/** Numbers and arrows before a line are the reading tool's, not the file's. */
const numbering = /^\s*\d+(?:→|\t|:|\|)\s?/;

/** Lines that are long enough to be known again where they are quoted. */
export function* longLines(words: string): Generator<string> {
  for (const raw of words.split("\n")) {
    if (raw.length < lineCharsMin) continue;
    const line = raw.replace(numbering, "").trim();
    if (line.length >= lineCharsMin) yield line;
  }
}
