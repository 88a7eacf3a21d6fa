/** The index itself, or the one before if it would split a surrogate pair. */
export const safeCutIndex = (text: string, at: number): number =>
  isSecondHalf(text.charCodeAt(at)) && isFirstHalf(text.charCodeAt(at - 1)) ? at - 1 : at;

const isFirstHalf = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
const isSecondHalf = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;

/**
 * The last line that is not blank, truncated; empty if all are blank. The cost depends on that line's length, not on
 * the text's.
 */
export function lastLine(text: string, charsMax: number): string {
  let end = text.length;
  while (end > 0) {
    const start = text.lastIndexOf("\n", end - 1) + 1;
    const line = text.slice(start, end).trim();
    if (line !== "") return line.length <= charsMax ? line : `${line.slice(0, safeCutIndex(line, charsMax))}…`;
    end = start - 1;
  }
  return "";
}
