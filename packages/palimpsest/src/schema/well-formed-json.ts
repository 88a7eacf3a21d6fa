import type { Json } from "./json.ts";

/**
 * A value as JSON that every parser takes. Half a surrogate pair is no character: JSON can spell it, and providers refuse
 * the whole request for it. The sign for a missing character stands in its place, in keys too.
 *
 * Costs one look at the text: whole pairs are written as they are, so that only a lone half has this escape.
 */
export function wellFormedJson(value: Json | object): string {
  const json = JSON.stringify(value);
  return json.includes(halfBegins) ? json.replaceAll(halfCharacter, "$1\uFFFD") : json;
}

const halfBegins = "\\ud";
/** Behind an even number of backslashes: behind an odd one it is a text about an escape. */
const halfCharacter = /(?<!\\)((?:\\\\)*)\\ud[89a-f][\da-f]{2}/g;
