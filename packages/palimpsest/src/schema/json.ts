export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/** Indexing an object from outside may find nothing, whatever the type says. */
export const field = (object: JsonObject, key: string): Json | undefined => object[key];

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const isArray = (value: Json | undefined): value is readonly Json[] => Array.isArray(value);

export const text = (object: JsonObject, key: string): string | undefined => {
  const value = object[key];
  return typeof value === "string" ? value : undefined;
};

/** Empty where there is no list. */
export const listAt = (value: Json | undefined, key: string): readonly Json[] => {
  const inner = isObject(value) ? field(value, key) : undefined;
  return isArray(inner) ? inner : [];
};

/** The one place where text becomes JSON: the result is data of no known shape. */
export const parseJson = (source: string): Json => JSON.parse(source) as Json;

/** For text that need not be JSON. */
export function parsedOrUndefined(source: string): Json | undefined {
  try {
    return parseJson(source);
  } catch {
    return undefined;
  }
}
