import { isArray, isObject, type Json, parseJson } from "palimpsest/internal/schema/json";
import { isTooDeep } from "../depth.ts";

/** A list or an object; undefined for all other texts, and for what is nested too deep to be walked. */
export function parsedBody(text: string): Json | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    const json = parseJson(text);
    return isTooDeep(json) ? undefined : json;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Whether the text says more than what was parsed of it: of two fields of one name, parsing leaves out the first. */
export function repeatsNames(text: string, json: Json): boolean {
  if (JSON.stringify(json) === text) return false;
  let names = 0;
  for (const [, colon] of text.matchAll(/"(?:[^"\\]|\\.)*"\s*(:)?/g)) if (colon !== undefined) names += 1;
  return names !== nameCount(json);
}

function nameCount(value: Json): number {
  if (isArray(value)) return value.reduce((sum: number, one) => sum + nameCount(one), 0);
  if (!isObject(value)) return 0;
  return Object.values(value).reduce((sum: number, one) => sum + 1 + nameCount(one), 0);
}
