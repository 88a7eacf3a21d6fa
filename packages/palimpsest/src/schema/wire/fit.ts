import type { z } from "zod";
import { isArray, isObject, type Json, type JsonObject } from "../json.ts";
import { fittingPassesMax } from "../limits.ts";

/**
 * The value without the fields that its form does not have or takes in another type; the very value where it fits.
 * Undefined where a field that it must have is missing or wrong: with more left out it would say something else.
 */
export function fit(value: JsonObject, form: z.ZodType): JsonObject | undefined {
  let fitted = value;
  for (let pass = 0; pass < fittingPassesMax; pass += 1) {
    const { error } = form.safeParse(fitted);
    if (error === undefined) return fitted;
    const found = fitted;
    for (const wrong of error.issues.flatMap((issue) => wrongPaths(issue))) {
      const path = droppable(found, wrong);
      if (path === undefined) return undefined;
      fitted = without(fitted, path);
    }
  }
  return undefined;
}

type Path = readonly PropertyKey[];

function wrongPaths(issue: z.core.$ZodIssue): readonly Path[] {
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.map((key) => [...issue.path, key]);
    case "invalid_union": {
      // Of several forms the value is meant to have the one that it follows furthest.
      const branches = issue.errors.map((issues) => issues.flatMap((inner) => wrongPaths(inner)));
      const [meant] = branches.toSorted((one, other) => depthOf(other) - depthOf(one));
      return meant === undefined ? [issue.path] : meant.map((path) => [...issue.path, ...path]);
    }
    default:
      return [issue.path];
  }
}

const depthOf = (paths: readonly Path[]): number => Math.max(0, ...paths.map((path) => path.length));

/** The innermost field on the path that is there. A field may be left out, an element of a list may not. */
function droppable(value: JsonObject, path: Path): Path | undefined {
  const passed: Json[] = [value];
  for (const key of path) {
    const inner = childOf(passed.at(-1), key);
    if (inner === undefined) break;
    passed.push(inner);
  }
  for (let length = passed.length - 1; length > 0; length -= 1)
    if (isObject(passed[length - 1])) return path.slice(0, length);
  return undefined;
}

function childOf(value: Json | undefined, key: PropertyKey): Json | undefined {
  if (isArray(value)) return typeof key === "number" ? value[key] : undefined;
  return isObject(value) && typeof key === "string" && Object.hasOwn(value, key) ? value[key] : undefined;
}

function without(value: JsonObject, path: Path): JsonObject {
  const changed = changedAt(value, path);
  return isObject(changed) ? changed : value;
}

/** A copy along the path; what lies beside it is shared. */
function changedAt(value: Json, [key, ...rest]: Path): Json {
  if (isArray(value)) return value.map((inner, at) => (at === key ? changedAt(inner, rest) : inner));
  if (!isObject(value)) return value;
  const entries = Object.entries(value);
  return Object.fromEntries(
    rest.length === 0
      ? entries.filter(([name]) => name !== key)
      : entries.map(([name, inner]) => [name, name === key ? changedAt(inner, rest) : inner]),
  );
}
