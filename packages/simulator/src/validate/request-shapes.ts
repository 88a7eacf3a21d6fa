import { field, isArray, isObject, type Json, type JsonObject } from "palimpsest/internal/schema/json";
import {
  type CountRequest,
  countRequest,
  type MessagesRequest,
  messagesRequest,
  type WireMessage,
  wireMessage,
} from "palimpsest/internal/schema/wire/messages-request";
import { type WireTool, wireTool } from "palimpsest/internal/schema/wire/wire-tool";
import { invalid, type Refusal } from "../refusal.ts";
import type { z } from "zod";

interface ShapeOutcome<Request> {
  readonly kind: "shaped";
  /** Holds the very message objects of the body, except for those without content. */
  readonly request: Request;
}

/**
 * Checks the shape of bodies, or says what is wrong with it. A caller in the same process sends the same message
 * objects turn after turn; those that have passed are not checked again, so a change made in place is not noticed.
 */
export class RequestShapes {
  readonly #passed: PassedValues = { messages: new WeakSet(), tools: new WeakSet(), filledByMessage: new WeakMap() };

  messages(body: Json): ShapeOutcome<MessagesRequest> | Refusal {
    const lists = shapeLists(body, this.#passed);
    const rest = messagesRest.safeParse(lists.rest);
    if (!rest.success) return firstRefusal(rest.error.issues, body);
    if (lists.refusal !== undefined) return lists.refusal;
    return { kind: "shaped", request: { ...rest.data, ...lists.shaped } };
  }

  count(body: Json): ShapeOutcome<CountRequest> | Refusal {
    const lists = shapeLists(body, this.#passed);
    const rest = countRest.safeParse(lists.rest);
    if (!rest.success) return firstRefusal(rest.error.issues, body);
    if (lists.refusal !== undefined) return lists.refusal;
    return { kind: "shaped", request: { ...rest.data, ...lists.shaped } };
  }
}

const messagesRest = messagesRequest.omit({ messages: true, tools: true });
const countRest = countRequest.omit({ messages: true, tools: true });
const [customTool, providerTool] = wireTool.options;

interface PassedValues {
  readonly messages: WeakSet<object>;
  readonly tools: WeakSet<object>;
  readonly filledByMessage: WeakMap<object, JsonObject>;
}

type Issues = Parameters<typeof issueRefusal>[0][];

function firstRefusal(issues: Issues, body: Json): Refusal {
  const [first] = issues;
  if (first === undefined) throw new Error("a schema refused a body without saying why");
  return issueRefusal(first, { at: [], body });
}

interface ShapedLists {
  /** The rest of the body, for the schema of the other fields. */
  readonly rest: Json;
  readonly refusal?: Refusal;
  readonly shaped: { messages: WireMessage[]; tools?: WireTool[] | null };
}

function shapeLists(body: Json, passed: PassedValues): ShapedLists {
  if (!isObject(body)) return { rest: body, shaped: { messages: [] } };
  const { messages: _messages, tools: _tools, ...rest } = body;
  const tools = shapeTools(body, passed);
  if (tools.kind === "refused") return { rest, refusal: tools, shaped: { messages: [] } };
  const messages = shapeList(body, { name: "messages", passed });
  if (messages.kind === "refused") return { rest, refusal: messages, shaped: { messages: [] } };
  return {
    rest,
    shaped: {
      messages: messages.values.filter((value) => isPassedMessage(value, passed)),
      ...(tools.tools === undefined ? {} : { tools: tools.tools }),
    },
  };
}

interface ToolsRead {
  readonly kind: "tools";
  readonly tools?: WireTool[] | null;
}

function shapeTools(body: JsonObject, passed: PassedValues): ToolsRead | Refusal {
  const value = field(body, "tools");
  if (value === undefined) return { kind: "tools" };
  if (value === null) return { kind: "tools", tools: null };
  const list = shapeList(body, { name: "tools", passed });
  if (list.kind === "refused") return list;
  return { kind: "tools", tools: list.values.filter((tool) => isPassedTool(tool, passed)) };
}

interface ListOptions {
  readonly name: "messages" | "tools";
  readonly passed: PassedValues;
}

function shapeList(
  body: JsonObject,
  { name, passed }: ListOptions,
): { readonly kind: "list"; readonly values: readonly Json[] } | Refusal {
  const values = field(body, name);
  if (values === undefined) return invalid("Field required", name);
  if (!isArray(values)) return invalid("Input should be a valid list", name);
  const filledByPlace = new Map<number, JsonObject>();
  for (const [at, sent] of values.entries()) {
    if (isObject(sent) && passed[name].has(sent)) continue;
    const value = name === "messages" && setsOnlyConfig(sent) ? fillContent(sent, passed) : sent;
    if (value !== sent && isObject(value)) filledByPlace.set(at, value);
    if (isObject(value) && passed[name].has(value)) continue;
    const result = name === "messages" ? wireMessage.safeParse(value) : toolSchema(value).safeParse(value);
    const [issue] = result.error?.issues ?? [];
    if (issue !== undefined) {
      return isUndatedType(name, value) ? unknownTool(value, at) : issueRefusal(issue, { at: [name, at], body });
    }
    if (isObject(value)) passed[name].add(value);
  }
  if (filledByPlace.size === 0) return { kind: "list", values };
  return { kind: "list", values: values.map((value, at) => filledByPlace.get(at) ?? value) };
}

/** A system message that sets something need not have content. */
const setsOnlyConfig = (message: Json): message is JsonObject =>
  isObject(message) &&
  field(message, "role") === "system" &&
  field(message, "content") === undefined &&
  (field(message, "output_config") ?? null) !== null;

/** Returns the same object each time, so that it is recognised. */
function fillContent(message: JsonObject, { filledByMessage }: PassedValues): JsonObject {
  const known = filledByMessage.get(message) ?? { ...message, content: [] };
  filledByMessage.set(message, known);
  return known;
}

const isPassedMessage = (value: Json, passed: PassedValues): value is Json & WireMessage =>
  isObject(value) && passed.messages.has(value);
const isPassedTool = (value: Json, passed: PassedValues): value is Json & WireTool =>
  isObject(value) && passed.tools.has(value);

const toolType = (tool: Json): Json | undefined => (isObject(tool) ? field(tool, "type") : undefined);

const isCustomType = (type: Json | undefined): boolean => type === undefined || type === null || type === "custom";

const toolSchema = (tool: Json): typeof customTool | typeof providerTool =>
  isCustomType(toolType(tool)) ? customTool : providerTool;

const isUndatedType = (name: ListOptions["name"], value: Json): boolean => {
  const type = toolType(value);
  return name === "tools" && !isCustomType(type) && !(typeof type === "string" && /_\d{8}$/.test(type));
};

function unknownTool(tool: Json, at: number): Refusal {
  const type = toolType(tool);
  const shown = typeof type === "string" ? type : JSON.stringify(type);
  return invalid(
    `Input tag '${shown}' found using 'type' does not match any of the expected tags: 'custom', or the dated type of a tool that the API provides`,
    `tools.${at}`,
  );
}

type Issue = z.core.$ZodIssue;
type IssuePath = readonly PropertyKey[];

interface FoundIssue {
  readonly issue: Issue;
  readonly path: IssuePath;
}

/**
 * Reports a schema's issue in the API's words and with the API's path, tags of unions included: `tools.0.custom.name`.
 */
function issueRefusal(issue: Issue, { at, body }: { readonly at: IssuePath; readonly body: Json }): Refusal {
  const found = innermost(issue, at);
  if (isUnknownTag(found.issue)) {
    const owner = found.path.slice(0, -1);
    return invalid(tagMessage(found.issue, valueAt(body, owner)), formatIssuePath(owner, body));
  }
  const path = found.issue.code === "unrecognized_keys" ? [...found.path, found.issue.keys[0] ?? ""] : [...found.path];
  const message = issueMessage(found.issue, { value: valueAt(body, found.path), name: path.at(-1) });
  return path.length === 0 ? invalid(message) : invalid(message, formatIssuePath(path, body));
}

/**
 * If no branch of a union fits, the one that the value was meant for: the branch that does not reject it as a whole.
 */
function innermost(issue: Issue, base: IssuePath): FoundIssue {
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

interface IssuePlace {
  readonly value: Json | undefined;
  readonly name: PropertyKey | undefined;
}

function issueMessage(issue: Issue, { value, name }: IssuePlace): string {
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

/** Fields that accept whole numbers only; for a string, a schema first reports that it is not a number at all. */
const wholeNumbers: ReadonlySet<PropertyKey> = new Set(["max_tokens", "top_k", "budget_tokens", "value"]);

function typeMessage(expected: string, { value, name }: IssuePlace): string {
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

function formatIssuePath(path: IssuePath, body: Json): string {
  const parts: string[] = [];
  let value: Json | undefined = body;
  for (const [at, step] of path.entries()) {
    parts.push(String(step));
    value = child(value, step);
    const next = path[at + 1];
    if (next === undefined || next === "type") continue;
    const tag = unionTag(value, { step, parent: path[at - 1] });
    if (tag !== undefined) parts.push(tag);
  }
  return parts.join(".");
}

const taggedFields: ReadonlySet<PropertyKey> = new Set(["source", "thinking", "tool_choice", "cache_control"]);

/** If several types are allowed, the API names the type that it took the value for. */
function unionTag(
  value: Json | undefined,
  { step, parent }: { step: PropertyKey; parent: PropertyKey | undefined },
): string | undefined {
  if (!isObject(value)) return undefined;
  const type = field(value, "type");
  if (parent === "tools") return typeof type === "string" ? type : "custom";
  const isUnion = taggedFields.has(step) || ((parent === "content" || parent === "edits") && typeof step === "number");
  return isUnion && typeof type === "string" ? type : undefined;
}

const valueAt = (body: Json, path: IssuePath): Json | undefined =>
  path.reduce<Json | undefined>((value, step) => child(value, step), body);

function child(value: Json | undefined, step: PropertyKey): Json | undefined {
  if (isArray(value)) return value[Number(step)];
  return isObject(value) && typeof step === "string" && Object.hasOwn(value, step) ? field(value, step) : undefined;
}
