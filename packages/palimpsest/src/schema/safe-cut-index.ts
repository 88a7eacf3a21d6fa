/** The place itself, or the one before where it lies between the halves of a character: what is cut there stays text. */
export const safeCutIndex = (text: string, at: number): number =>
  isSecondHalf(text.charCodeAt(at)) && isFirstHalf(text.charCodeAt(at - 1)) ? at - 1 : at;

const isFirstHalf = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
const isSecondHalf = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;

/** The last line that says something, cut; empty where none does. Costs by its length, not by that of the text. */
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
