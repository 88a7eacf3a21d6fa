export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/** Indexing an object from outside may find nothing, whatever the type says. */
export const field = (object: JsonObject, key: string): Json | undefined => object[key];

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const isArray = (value: Json | undefined): value is readonly Json[] => Array.isArray(value);

export const textField = (object: JsonObject, key: string): string | undefined => {
  const value = object[key];
  return typeof value === "string" ? value : undefined;
};

/** Empty where there is no list. */
export const listField = (value: Json | undefined, key: string): readonly Json[] => {
  const inner = isObject(value) ? field(value, key) : undefined;
  return isArray(inner) ? inner : [];
};

/** The one place where text becomes JSON: the result is data of no known shape. */
export const parseJson = (source: string): Json => JSON.parse(source) as Json;

/** For text that need not be JSON. */
export function tryParseJson(source: string): Json | undefined {
  try {
    return parseJson(source);
  } catch {
    return undefined;
  }
}

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
