import { joinedCharsMax } from "./1-offload/limits.ts";
import type { Tokens } from "../schema/brand.ts";
import { charsPerTokenMax, fitGuessesMax } from "./4-compact/limits.ts";

/**
 * The longest beginning of at most so many bytes in UTF-8, without splitting a character. It ends at the last newline
 * if that lies in the second half.
 */
export function headWithinBytes(text: string, bytesMax: number): string {
  let bytes = 0;
  let at = 0;
  while (at < text.length) {
    const point = text.codePointAt(at) ?? 0;
    if (bytes + utf8Bytes(point) > bytesMax) break;
    bytes += utf8Bytes(point);
    at += utf16Units(point);
  }
  if (at === text.length) return text;
  const head = text.slice(0, borderBefore(text, at));
  const newline = head.lastIndexOf("\n");
  return newline > head.length / 2 ? head.slice(0, newline) : head;
}

/**
 * The longest end of at most so many bytes, likewise. It starts behind the first newline if that lies in the first
 * half.
 */
export function tailWithinBytes(text: string, bytesMax: number): string {
  let bytes = 0;
  let at = text.length;
  while (at > 0) {
    const isPair = isLow(text.charCodeAt(at - 1)) && isHigh(text.charCodeAt(at - 2));
    const from = at - (isPair ? 2 : 1);
    const point = text.codePointAt(from) ?? 0;
    if (bytes + utf8Bytes(point) > bytesMax) break;
    bytes += utf8Bytes(point);
    at = from;
  }
  if (at === 0) return text;
  const tail = text.slice(borderBehind(text, at));
  const newline = tail.indexOf("\n");
  return newline !== -1 && newline < tail.length / 2 ? tail.slice(newline + 1) : tail;
}

/** The beginning of at most so many UTF-16 units, without splitting a character. */
export const clipText = (text: string, charsMax: number): string =>
  text.length <= charsMax ? text : text.slice(0, borderBefore(text, charsMax));

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;
const utf16Units = (point: number): number => (point > 0xffff ? 2 : 1);

function utf8Bytes(point: number): number {
  if (point < 0x80) return 1;
  if (point < 0x800) return 2;
  return point > 0xffff ? 4 : 3;
}

function borderBefore(text: string, at: number): number {
  let border = at;
  for (let step = 0; step < joinedCharsMax && border > 0 && isInside(text, border); step += 1) border -= 1;
  return border > 0 && !isInside(text, border) ? border : wholeUnit(text, at);
}

function borderBehind(text: string, at: number): number {
  let border = at;
  for (let step = 0; step < joinedCharsMax && border < text.length && isInside(text, border); step += 1) border += 1;
  return border < text.length && !isInside(text, border) ? border : wholeUnit(text, at);
}

/** If no border is near, at least no surrogate pair is split. */
const wholeUnit = (text: string, at: number): number => (isSplitPair(text, at) ? at - 1 : at);
const isSplitPair = (text: string, at: number): boolean =>
  isLow(text.charCodeAt(at)) && isHigh(text.charCodeAt(at - 1));

const joiner = 0x200d;
const joinsPrevious = /^[\p{M}\p{Emoji_Modifier}\u200D]/u;

/** Whether this place is inside a surrogate pair, or between a letter or emoji and a mark that combines with it. */
function isInside(text: string, at: number): boolean {
  if (isSplitPair(text, at) || text.charCodeAt(at - 1) === joiner) return true;
  if (text.charCodeAt(at) < 0x300) return false;
  return joinsPrevious.test(text.slice(at, at + 2));
}

/** Counts the tokens of a text. It need not be additive, but should not shrink when a text grows. */
export type CountText = (text: string) => Tokens;

export interface FitOptions {
  readonly tokensMax: number;
  readonly count: CountText;
}

/** A beginning that fits, as long as a few guesses can make it. It never splits a character. */
export const headWithinTokens = (text: string, options: FitOptions): string =>
  fitText(options, (chars) => clipText(text, chars));

/** An end that fits, likewise. */
export const tailWithinTokens = (text: string, options: FitOptions): string =>
  fitText(options, (chars) => wholeFrom(text, Math.max(0, text.length - chars)));

/** Looks at no more of a text than could fit. The result fits, whatever the counter. */
function fitText({ tokensMax, count }: FitOptions, part: (chars: number) => string): string {
  let taken = part(Math.max(0, Math.floor(tokensMax) * charsPerTokenMax));
  for (let look = 0; taken !== ""; look += 1) {
    const size = count(taken);
    if (size <= tokensMax) return taken;
    const share = look < fitGuessesMax ? Math.min(tokensMax / size, 1) * 0.97 : 1 / 2;
    taken = part(Math.min(taken.length - 1, Math.floor(taken.length * share)));
  }
  return "";
}

const wholeFrom = (text: string, at: number): string =>
  text.slice(/[\uDC00-\uDFFF]/.test(text.charAt(at)) ? at + 1 : at);

/** The first lines that fit together, each counted with its line end. */
export function fitLines(lines: Iterable<string>, { tokensMax, count }: FitOptions): readonly string[] {
  const taken: string[] = [];
  let used = 0;
  for (const line of lines) {
    const cost = count(`${line}\n`);
    if (used + cost > tokensMax) break;
    used += cost;
    taken.push(line);
  }
  return taken;
}

/** The longest beginning of whole lines that fits; empty if not even the first line does. */
export function wholeLinesWithin(text: string, fits: (head: string) => boolean): string {
  const lines = text.split("\n");
  const count = longestFitting(lines.length, (taken) => fits(lines.slice(0, taken).join("\n")));
  return lines.slice(0, count).join("\n");
}

/**
 * Like `wholeLinesWithin`, but if not even the first line fits, the longest beginning of it that does, without
 * splitting a character.
 */
export function headWithin(text: string, fits: (head: string) => boolean): string {
  const lines = wholeLinesWithin(text, fits);
  if (lines !== "") return lines;
  const [first = ""] = text.split("\n", 1);
  return clipText(
    first,
    longestFitting(first.length, (taken) => fits(clipText(first, taken))),
  );
}

/** A binary search: calls `fits` log₂ times. `fits` need not be monotone; the result fits, or is 0. */
export function longestFitting(max: number, fits: (taken: number) => boolean): number {
  let [fitting, over] = [0, max + 1];
  while (over - fitting > 1) {
    const middle = Math.floor((fitting + over) / 2);
    if (fits(middle)) fitting = middle;
    else over = middle;
  }
  return fitting;
}
