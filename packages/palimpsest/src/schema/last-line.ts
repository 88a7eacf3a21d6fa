import { wholeCharacter } from "./whole-character.ts";

/** The last line that says something, cut; empty where none does. Costs by its length, not by that of the text. */
export function lastLine(text: string, charsMax: number): string {
  let end = text.length;
  while (end > 0) {
    const start = text.lastIndexOf("\n", end - 1) + 1;
    const line = text.slice(start, end).trim();
    if (line !== "") return line.length <= charsMax ? line : `${line.slice(0, wholeCharacter(line, charsMax))}…`;
    end = start - 1;
  }
  return "";
}
