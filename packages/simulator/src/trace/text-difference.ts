import { differenceCharsMax, differenceContextChars } from "../limits.ts";

/** The place where two texts differ, with a little of what both have around it. */
export interface TextDifference {
  /** Number of characters that both begin with. */
  readonly at: number;
  readonly before: string;
  readonly old: string;
  readonly now: string;
  readonly after: string;
}

/** Undefined if they are equal. One difference, from the first character that differs to the last. */
export function textDifference(old: string, now: string): TextDifference | undefined {
  if (old === now) return undefined;
  const start = countSharedStart(old, now);
  const end = countSharedEnd(old.slice(start), now.slice(start));
  return {
    at: start,
    before: clipStart(old.slice(0, start)),
    old: clipMiddle(old.slice(start, old.length - end)),
    now: clipMiddle(now.slice(start, now.length - end)),
    after: clipEnd(old.slice(old.length - end)),
  };
}

function countSharedStart(old: string, now: string): number {
  const most = Math.min(old.length, now.length);
  let at = 0;
  while (at < most && old[at] === now[at]) at += 1;
  return at > 0 && isHighHalf(old[at - 1]) ? at - 1 : at;
}

function countSharedEnd(old: string, now: string): number {
  const most = Math.min(old.length, now.length);
  let count = 0;
  while (count < most && old.at(-1 - count) === now.at(-1 - count)) count += 1;
  return count > 0 && isLowHalf(old.at(-count)) ? count - 1 : count;
}

const clipStart = (text: string): string =>
  text.length <= differenceContextChars ? text : `…${cutFront(text.slice(-differenceContextChars))}`;
const clipEnd = (text: string): string =>
  text.length <= differenceContextChars ? text : `${cutBack(text.slice(0, differenceContextChars))}…`;

function clipMiddle(text: string): string {
  if (text.length <= differenceCharsMax) return text;
  const half = differenceCharsMax / 2;
  return `${cutBack(text.slice(0, half))} … ${cutFront(text.slice(-half))}`;
}

/** A character outside the basic plane is a surrogate pair: a cut must not leave half of it. */
const cutFront = (text: string): string => (isLowHalf(text[0]) ? text.slice(1) : text);
const cutBack = (text: string): string => (isHighHalf(text.at(-1)) ? text.slice(0, -1) : text);
const isHighHalf = (half: string | undefined): boolean => half !== undefined && half >= "\uD800" && half <= "\uDBFF";
const isLowHalf = (half: string | undefined): boolean => half !== undefined && half >= "\uDC00" && half <= "\uDFFF";
