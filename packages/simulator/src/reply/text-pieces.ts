/** Overhead of a call beyond its name and input. */
export const callTokens = 8;

interface StopSequenceMatch {
  readonly at: number;
  readonly sequence: string;
}

/** The stop sequence that comes first in the text. */
export function findStopSequence(text: string, sequences: readonly string[]): StopSequenceMatch | undefined {
  const found = sequences
    .map((sequence) => ({ sequence, at: sequence === "" ? -1 : text.indexOf(sequence) }))
    .filter(({ at }) => at >= 0);
  return found.toSorted((one, other) => one.at - other.at)[0];
}

/** The longest prefix that fits, found by bisection; it never ends inside a surrogate pair. */
export function longestFittingPrefix(text: string, fits: (text: string) => boolean): string {
  let least = 0;
  let most = text.length;
  while (least < most) {
    const middle = Math.ceil((least + most) / 2);
    if (fits(text.slice(0, middle))) least = middle;
    else most = middle - 1;
  }
  const end = isHighSurrogate(text.charCodeAt(least - 1)) ? least - 1 : least;
  return text.slice(0, end);
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;

/** About what a model sends per event. */
const pieceLength = 24;

/** Pieces of whole characters: a surrogate pair is never split. */
export function* textPieces(text: string): Generator<string> {
  for (let at = 0; at < text.length;) {
    let end = Math.min(at + pieceLength, text.length);
    const last = text.charCodeAt(end - 1);
    if (end < text.length && last >= 0xd800 && last <= 0xdbff) end += 1;
    yield text.slice(at, end);
    at = end;
  }
}
