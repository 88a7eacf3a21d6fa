import type { z } from "zod";
import { field, isArray, isObject, type Json } from "palimpsest/internal/schema/json";
import { invalid, type Refusal } from "../refusal.ts";

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

interface Found {
  readonly issue: Issue;
  readonly path: Path;
}

/** Says what a schema found in the API's words and with the API's path, tags of unions included: `tools.0.custom.name`. */
export function refusalOf(issue: Issue, { at, body }: { readonly at: Path; readonly body: Json }): Refusal {
  const found = innermost(issue, at);
  if (isUnknownTag(found.issue)) {
    const owner = found.path.slice(0, -1);
    return invalid(tagMessage(found.issue, valueAt(body, owner)), dotted(owner, body));
  }
  const path = found.issue.code === "unrecognized_keys" ? [...found.path, found.issue.keys[0] ?? ""] : [...found.path];
  const message = wording(found.issue, { value: valueAt(body, found.path), name: path.at(-1) });
  return path.length === 0 ? invalid(message) : invalid(message, dotted(path, body));
}

/** Of a union that took nothing, the branch that the value was meant for: the one that does not refuse it as a whole. */
function innermost(issue: Issue, base: Path): Found {
  const path = [...base, ...issue.path];
  if (issue.code !== "invalid_union" || issue.errors.length === 0) return { issue, path };
  const branch = issue.errors.find((errors) => errors[0] !== undefined && errors[0].path.length > 0);
  const first = (branch ?? issue.errors.at(-1))?.[0];
  return first === undefined ? { issue, path } : innermost(first, path);
}

interface UnknownTag {
  readonly code: "invalid_union";
  readonly options?: readonly unknown[];
}

const isUnknownTag = (issue: Issue): issue is Issue & UnknownTag =>
  issue.code === "invalid_union" && issue.errors.length === 0;

function tagMessage(issue: UnknownTag, owner: Json | undefined): string {
  const tag = isObject(owner) ? field(owner, "type") : undefined;
  if (tag === undefined) return "Unable to extract tag using discriminator 'type'";
  const expected = (issue.options ?? []).map((option) => `'${String(option)}'`).join(", ");
  const shown = typeof tag === "string" ? tag : JSON.stringify(tag);
  return `Input tag '${shown}' found using 'type' does not match any of the expected tags: ${expected}`;
}

interface Place {
  readonly value: Json | undefined;
  readonly name: PropertyKey | undefined;
}

function wording(issue: Issue, { value, name }: Place): string {
  if (value === undefined && issue.code !== "unrecognized_keys") return "Field required";
  switch (issue.code) {
    case "invalid_type":
      return typeMessage(issue.expected, { value, name });
    case "invalid_value":
      return `Input should be ${choices(issue.values.map((choice) => `'${String(choice)}'`))}`;
    case "unrecognized_keys":
      return "Extra inputs are not permitted";
    case "too_small":
      return issue.origin === "string"
        ? `String should have at least ${characters(issue.minimum)}`
        : `Input should be greater than ${issue.inclusive === false ? "" : "or equal to "}${issue.minimum}`;
    case "too_big":
      return issue.origin === "string"
        ? `String should have at most ${characters(issue.maximum)}`
        : `Input should be less than or equal to ${issue.maximum}`;
    case "invalid_format":
    case "not_multiple_of":
    case "invalid_key":
    case "invalid_element":
    case "invalid_union":
    case "custom":
      return "Input is invalid";
  }
}

/** Fields that take whole numbers only; a schema first tells of a text that it is no number at all. */
const wholeNumbers: ReadonlySet<PropertyKey> = new Set(["max_tokens", "top_k", "budget_tokens", "value"]);

function typeMessage(expected: string, { value, name }: Place): string {
  if (wholeNumbers.has(name ?? ""))
    return typeof value === "number"
      ? "Input should be a valid integer, got a number with a fractional part"
      : "Input should be a valid integer";
  return `Input should be a valid ${typeNames[expected] ?? expected}`;
}

const typeNames: Readonly<Record<string, string>> = { array: "list", object: "dictionary", record: "dictionary" };

const characters = (count: number | bigint): string => `${count} character${Number(count) === 1 ? "" : "s"}`;

const choices = (names: readonly string[]): string =>
  names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} or ${names.at(-1) ?? ""}`;

function dotted(path: Path, body: Json): string {
  const parts: string[] = [];
  let value: Json | undefined = body;
  for (const [at, step] of path.entries()) {
    parts.push(String(step));
    value = child(value, step);
    const next = path[at + 1];
    if (next === undefined || next === "type") continue;
    const tag = tagOf(value, { step, parent: path[at - 1] });
    if (tag !== undefined) parts.push(tag);
  }
  return parts.join(".");
}

const tagged: ReadonlySet<PropertyKey> = new Set(["source", "thinking", "tool_choice", "cache_control"]);

/** Where one of several types may stand, the API names the type it took the value for. */
function tagOf(
  value: Json | undefined,
  { step, parent }: { step: PropertyKey; parent: PropertyKey | undefined },
): string | undefined {
  if (!isObject(value)) return undefined;
  const type = field(value, "type");
  if (parent === "tools") return typeof type === "string" ? type : "custom";
  const isUnion = tagged.has(step) || ((parent === "content" || parent === "edits") && typeof step === "number");
  return isUnion && typeof type === "string" ? type : undefined;
}

const valueAt = (body: Json, path: Path): Json | undefined =>
  path.reduce<Json | undefined>((value, step) => child(value, step), body);

function child(value: Json | undefined, step: PropertyKey): Json | undefined {
  if (isArray(value)) return value[Number(step)];
  return isObject(value) && typeof step === "string" && Object.hasOwn(value, step) ? field(value, step) : undefined;
}
