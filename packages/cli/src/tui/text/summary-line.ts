import { figure } from "palimpsest/internal/schema/figure";
import { wholeCharacter } from "palimpsest/internal/schema/whole-character";
import { titleCharsMax } from "../limits.ts";

/** A result in a line: itself where it has only one, else its first words and how long it is. */
export function summaryLine(result: string): string {
  const start = result.search(/\S/);
  if (start === -1) return "";
  const end = result.indexOf("\n", start);
  const first = result.slice(start, end === -1 ? undefined : end).trimEnd();
  const shown = first.length <= titleCharsMax ? first : `${first.slice(0, wholeCharacter(first, titleCharsMax))}…`;
  const lines = lineCount(result);
  return lines === 1 ? shown : `${shown} (${figure(lines)} lines)`;
}

function lineCount(result: string): number {
  const whole = result.trimEnd();
  let count = 1;
  for (let at = whole.indexOf("\n"); at !== -1; at = whole.indexOf("\n", at + 1)) count += 1;
  return count;
}
