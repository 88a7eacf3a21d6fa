import { field, isObject, type Json, type JsonObject, listAt, text } from "../schema/json.ts";

/** Reading records of no promised shape: what is missing or of another type is empty, never an error. */
export const objectAt = (value: Json | undefined, key: string): JsonObject => {
  const inner = isObject(value) ? field(value, key) : undefined;
  return isObject(inner) ? inner : {};
};

export const objectsAt = (value: Json | undefined, key: string): readonly JsonObject[] =>
  listAt(value, key).filter((inner) => isObject(inner));

export const textAt = (value: Json | undefined, key: string): string =>
  (isObject(value) ? text(value, key) : undefined) ?? "";

export const numberAt = (value: Json | undefined, key: string): number => {
  const inner = isObject(value) ? field(value, key) : undefined;
  return typeof inner === "number" && Number.isFinite(inner) ? inner : 0;
};

/** Milliseconds since 1970, as several tools write times. */
export const isoAt = (value: Json | undefined, key: string): string | undefined => {
  const millis = numberAt(value, key);
  return millis > 0 && millis < 8.64e15 ? new Date(millis).toISOString() : undefined;
};

/** As an object to spread: fields without a value are left out. */
export const present = (fields: Readonly<Record<string, Json | undefined>>): JsonObject => {
  const kept: Record<string, Json> = {};
  for (const [key, value] of Object.entries(fields)) if (value !== undefined && value !== "") kept[key] = value;
  return kept;
};
