import type { z } from "zod";
import { isArray, isObject, type Json } from "palimpsest/internal/schema/json";
import { invalidValue, type OpenAiRefusal, refused } from "./error.ts";

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

/** Says what a schema found in the provider's words, with its way of naming places: `messages[0].content[1].type`. */
export function shapeRefusal(issues: readonly Issue[], body: Json): OpenAiRefusal {
  const [first] = issues;
  if (first === undefined) throw new Error("a schema refused a body without saying why");
  const { issue, path } = innermost(first);
  if (issue.code === "unrecognized_keys") {
    const param = named([...path, issue.keys[0] ?? ""]);
    return refused(`Unknown parameter: '${param}'.`, { param, code: "unknown_parameter" });
  }
  const param = named(path);
  const value = valueAt(body, path);
  if (value === undefined)
    return refused(`Missing required parameter: '${param}'.`, { param, code: "missing_required_parameter" });
  return wording(issue, { param, value });
}

/** Of a union that took nothing, the branch that got furthest beyond the tags: what the value was meant to be. */
function innermost(issue: Issue, base: Path = []): Found {
  const path = [...base, ...issue.path];
  if (issue.code !== "invalid_union" || issue.errors.length === 0) return { issue, path };
  const branches = issue.errors.flatMap((errors) => (errors[0] === undefined ? [] : [innermost(errors[0], path)]));
  return branches.toSorted((one, other) => depthOf(other) - depthOf(one))[0] ?? { issue, path };
}

/** A tag that does not fit says only that another branch was meant; so, but less so, does a kind. */
function depthOf({ issue, path }: Found): number {
  if (path.at(-1) === "type") return path.length - 0.5;
  return path.length - (issue.code === "invalid_type" ? 0.25 : 0);
}

interface Found {
  readonly issue: Issue;
  readonly path: Path;
}

interface Place {
  readonly param: string;
  readonly value: Json;
}

function wording(issue: Issue, place: Place): OpenAiRefusal {
  const { param, value } = place;
  switch (issue.code) {
    case "invalid_type":
      return refused(
        `Invalid type for '${param}': expected ${expectedName(issue.expected)}, but got ${kindName(value)} instead.`,
        { param, code: "invalid_type" },
      );
    case "invalid_value":
      return invalidValue(shown(value), { param, supported: issue.values.map(String) });
    case "too_small":
    case "too_big":
      return outOfRange(issue, place);
    case "invalid_union":
      return invalidValue(shown(value), { param, supported: optionsOf(issue) });
    default:
      return refused(`Invalid '${param}': ${issue.message}.`, { param, code: "invalid_value" });
  }
}

/** A discriminated union names the tags that it knows. */
const optionsOf = (issue: Issue): readonly string[] =>
  "options" in issue && Array.isArray(issue.options) ? issue.options.map(String) : [];

type Range = Extract<Issue, { code: "too_small" | "too_big" }>;

function outOfRange(issue: Range, { param, value }: Place): OpenAiRefusal {
  const isBig = issue.code === "too_big";
  const bound = Number(issue.code === "too_big" ? issue.maximum : issue.minimum);
  if (isArray(value) || typeof value === "string") {
    const what = isArray(value) ? "an array" : "a string";
    const word = what.split(" ")[1] ?? "";
    const side = isBig ? "maximum" : "minimum";
    return refused(
      `Invalid '${param}': ${word} too ${isBig ? "long" : "short"}. Expected ${what} with ${side} length ${bound}, but got ${what} with length ${value.length} instead.`,
      { param, code: `${word}_${isBig ? "above_max" : "below_min"}_length` },
    );
  }
  const word = Number.isInteger(value) && Number.isInteger(bound) ? "integer" : "decimal";
  const side = isBig ? "above maximum" : "below minimum";
  return refused(
    `Invalid '${param}': ${word} ${side} value. Expected a value ${isBig ? "<=" : ">="} ${bound}, but got ${shown(value)} instead.`,
    { param, code: `${word}_${isBig ? "above_max" : "below_min"}_value` },
  );
}

const named = (path: Path): string =>
  path.reduce<string>(
    (sum, step) => (typeof step === "number" ? `${sum}[${step}]` : `${sum}${sum === "" ? "" : "."}${String(step)}`),
    "",
  );

function valueAt(body: Json, path: Path): Json | undefined {
  let value: Json | undefined = body;
  for (const step of path) {
    if (isArray(value) && typeof step === "number") value = value[step];
    else value = isObject(value) ? value[String(step)] : undefined;
  }
  return value;
}

const shown = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value));

const nameByType: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a decimal",
  int: "an integer",
  boolean: "a boolean",
  array: "an array of objects",
  object: "an object",
  record: "an object",
};

const expectedName = (expected: string): string => nameByType[expected] ?? `one of ${expected}`;

function kindName(value: Json): string {
  if (value === null) return "null";
  if (isArray(value)) return "an array";
  if (typeof value === "number") return Number.isInteger(value) ? "an integer" : "a decimal";
  return nameByType[typeof value] ?? typeof value;
}
