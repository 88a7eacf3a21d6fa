export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/** Like `object[key]`, but typed so that the key may be missing. */
export const field = (object: JsonObject, key: string): Json | undefined => object[key];

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const isArray = (value: Json | undefined): value is readonly Json[] => Array.isArray(value);

export const textField = (object: JsonObject, key: string): string | undefined => {
  const value = object[key];
  return typeof value === "string" ? value : undefined;
};

/** Empty if there is no list. */
export const listField = (value: Json | undefined, key: string): readonly Json[] => {
  const inner = isObject(value) ? field(value, key) : undefined;
  return isArray(inner) ? inner : [];
};

/** The only place that parses JSON: the result is data of unknown shape. */
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
 * A value as JSON that every parser accepts. JSON can contain half a surrogate pair, but that is not a character, and
 * providers refuse the whole request for it. It is replaced by U+FFFD, in keys too.
 *
 * Costs one search of the text: complete pairs are not escaped, so only a lone half has this escape.
 */
export function wellFormedJson(value: Json | object): string {
  const json = JSON.stringify(value);
  return json.includes(halfEscapePrefix) ? json.replaceAll(halfCharacter, "$1\uFFFD") : json;
}

const halfEscapePrefix = "\\ud";
/** After an even number of backslashes: after an odd number it is text that mentions an escape. */
const halfCharacter = /(?<!\\)((?:\\\\)*)\\ud[89a-f][\da-f]{2}/g;
