import { joinedCharsMax } from "./limits.ts";

/** The longest beginning of at most so many bytes in UTF-8, at a border of characters; at the last newline where that lies past the half. */
export function headOf(text: string, bytesMax: number): string {
  let bytes = 0;
  let at = 0;
  while (at < text.length) {
    const point = text.codePointAt(at) ?? 0;
    if (bytes + utf8BytesOf(point) > bytesMax) break;
    bytes += utf8BytesOf(point);
    at += unitsOf(point);
  }
  if (at === text.length) return text;
  const head = text.slice(0, borderBefore(text, at));
  const newline = head.lastIndexOf("\n");
  return newline > head.length / 2 ? head.slice(0, newline) : head;
}

/** The longest end of at most so many bytes, likewise: behind the first newline where that lies before the half. */
export function tailOf(text: string, bytesMax: number): string {
  let bytes = 0;
  let at = text.length;
  while (at > 0) {
    const isPair = isLow(text.charCodeAt(at - 1)) && isHigh(text.charCodeAt(at - 2));
    const from = at - (isPair ? 2 : 1);
    const point = text.codePointAt(from) ?? 0;
    if (bytes + utf8BytesOf(point) > bytesMax) break;
    bytes += utf8BytesOf(point);
    at = from;
  }
  if (at === 0) return text;
  const tail = text.slice(borderBehind(text, at));
  const newline = tail.indexOf("\n");
  return newline !== -1 && newline < tail.length / 2 ? tail.slice(newline + 1) : tail;
}

/** The beginning of at most so many units of UTF-16, at a border of characters. */
export const clipped = (text: string, charsMax: number): string =>
  text.length <= charsMax ? text : text.slice(0, borderBefore(text, charsMax));

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;
const unitsOf = (point: number): number => (point > 0xffff ? 2 : 1);

function utf8BytesOf(point: number): number {
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

/** Where no border is near, at least no pair of surrogates is split. */
const wholeUnit = (text: string, at: number): number => (isSplitPair(text, at) ? at - 1 : at);
const isSplitPair = (text: string, at: number): boolean =>
  isLow(text.charCodeAt(at)) && isHigh(text.charCodeAt(at - 1));

const joiner = 0x200d;
const joinsTheOneBefore = /^[\p{M}\p{Emoji_Modifier}\u200D]/u;

/** Is this place inside a pair of surrogates, or between a letter or picture and what is drawn onto it? */
function isInside(text: string, at: number): boolean {
  if (isSplitPair(text, at) || text.charCodeAt(at - 1) === joiner) return true;
  if (text.charCodeAt(at) < 0x300) return false;
  return joinsTheOneBefore.test(text.slice(at, at + 2));
}
