import { stripTerminalSequences } from "@earendil-works/pi-tui";

/**
 * How many of these lines have been read already by whoever has read those: the first ones, as long as they are the same;
 * from there on, where a text was laid out anew, as many as hold no more characters. So nothing is left out, and of what was
 * laid out anew a line at most is seen twice.
 */
export function placeAfter(read: readonly string[], lines: readonly string[]): number {
  let at = 0;
  while (at < read.length && read[at] === lines[at]) at += 1;
  let left = read.slice(at).reduce((sum, line) => sum + inkOf(line), 0);
  while (at < lines.length && left > 0) {
    left -= inkOf(lines[at] ?? "");
    if (left < 0) return at;
    at += 1;
  }
  return at;
}

/** Characters of a text. Rules and the frames of tables are as long as there is room. */
const inkOf = (line: string): number => stripTerminalSequences(line).replaceAll(/[\s\u2500-\u257F]/g, "").length;
