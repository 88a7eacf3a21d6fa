import { isArray, isObject, type Json, parseJson } from "palimpsest/internal/schema/json";
import { tracedValueCharsMax } from "../limits.ts";

/** What stands at a prompt's path (`messages.3.content.0`) in a request's body; null where nothing does. */
export function blockValue(body: object, path: string): Json {
  let value: unknown = body;
  for (const step of path.split(".")) {
    // Text where blocks may stand too is one block.
    if (typeof value === "string") return { type: "text", text: value };
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return null;
    value = Object.getOwnPropertyDescriptor(value, step)?.value;
  }
  if (typeof value === "string") return { type: "text", text: value };
  return unmarked(jsonValue(value));
}

/** A value as JSON would carry it. */
export const jsonValue = (value: unknown): Json => (value === undefined ? null : parseJson(JSON.stringify(value)));

/** The value as a trace holds it: a long one as the beginning of its JSON. */
export function tracedValue(value: Json): { readonly value: Json; readonly cut?: { readonly ofChars: number } } {
  const json = JSON.stringify(value);
  if (json.length <= tracedValueCharsMax) return { value };
  return { value: json.slice(0, tracedValueCharsMax), cut: { ofChars: json.length } };
}

/** Markers are no part of a block's hash, so they are none of the content that stands for the hash. */
function unmarked(value: Json): Json {
  if (!isObject(value)) return value;
  const { cache_control: _marker, ...rest } = value;
  if (!isArray(rest["content"])) return rest;
  return { ...rest, content: rest["content"].map(unmarked) };
}
