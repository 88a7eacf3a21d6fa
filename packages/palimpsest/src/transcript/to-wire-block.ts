import {
  type Block,
  isMediaType,
  parseBlock,
  toolNamePattern,
  callIdPattern,
  type ResultContent,
  type ToolResultBlock,
  roleByPassthroughType,
} from "../schema/block.ts";
import { isArray, isObject, type Json, type JsonObject, textField } from "../schema/json.ts";
import { toolNameCharsMax, fittingPassesMax } from "../schema/limits.ts";
import { resultPart, wireBlock } from "../schema/wire/wire-block.ts";
import { type ToolUseId, toolUseId } from "../schema/brand.ts";
import type { z } from "zod";

/**
 * Blocks as a request may hold them. A log keeps whatever was written into it: misspelt keys, values of another type,
 * fields of a newer version. The API refuses a request for one such key, and every later one with it. So what is sent
 * has only what the wire form has, and the log keeps the rest.
 *
 * A block that is right stays the very object that it was, so that its bytes are known.
 */

/** Undefined where nothing of the block can be sent. Of a result's own blocks `wirePart` takes care. */
export function toWireBlock(block: Block): Block | undefined {
  if (isWireReady(block)) return block;
  const whole: JsonObject = { ...block };
  const { content, ...rest } = withoutCacheMark(whole);
  const isResult = block.type === "tool_result";
  const looked = content === undefined || isResult ? rest : { ...rest, content };
  const fitted = fitToSchema(looked, wireBlock);
  // Whoever looks at images and documents before they are sent says in their place what is wrong.
  if (fitted === undefined) return isMediaType(looked["type"]) ? block : undefined;
  const named = block.type === "tool_use" ? { ...fitted, name: toWireName(block.name) } : fitted;
  const sent = isResult && content !== undefined ? { ...named, content } : named;
  return hasSameFields(whole, sent) ? block : parseBlock(sent);
}

const hasSameFields = (one: JsonObject, other: JsonObject): boolean =>
  Object.keys(one).length === Object.keys(other).length &&
  Object.entries(one).every(([key, value]) => other[key] === value);

/** A block of a result, as text where the API has no such form. */
export function toWirePart(part: JsonObject): JsonObject {
  if (isPlainText(part)) return part;
  const looked = withoutCacheMark(part);
  const asText: JsonObject = { type: "text", text: JSON.stringify(part) };
  return fitToSchema(looked, resultPart) ?? (isMediaType(part["type"]) ? looked : asText);
}

/**
 * Without the markers of a recorded request, also in what a block holds: those of a request are few, and set anew. What
 * stands in a call's input is no marker, and what a provider signed stays as it is.
 */
function withoutCacheMark(value: JsonObject): JsonObject {
  const isSealed = value["type"] === "compaction";
  const fields = Object.entries(value).flatMap(([key, inner]): [string, Json][] => {
    if (key === "cache_control") return [];
    return [[key, isSealed || key === "input" ? inner : withoutInnerCacheMarks(inner)]];
  });
  const stripped = Object.fromEntries(fields);
  return hasSameFields(value, stripped) ? value : stripped;
}

function withoutInnerCacheMarks(value: Json): Json {
  if (isObject(value)) return withoutCacheMark(value);
  if (!isArray(value)) return value;
  const inner = value.map((one) => withoutInnerCacheMarks(one));
  return inner.every((one, at) => one === value[at]) ? value : inner;
}

/** Looked at key by key: nearly all blocks of a log are of these kinds, and a schema would cost ten times as much. */
function isWireReady(block: Block): boolean {
  switch (block.type) {
    case "text":
      return isPlainText(block);
    case "thinking":
      return hasOnly(block, thinkingKeys);
    case "redacted_thinking":
      return hasOnly(block, redactedKeys);
    case "tool_use":
      return hasOnly(block, callKeys) && isUsualCaller(block) && toolNamePattern.test(block.name);
    case "tool_result":
      return hasOnly(block, resultKeys) && typeof (block.is_error ?? false) === "boolean";
    default:
      return false;
  }
}

/** Replies say `citations: null` of most texts. */
const isPlainText = (block: { readonly type?: Json }): boolean =>
  block.type === "text" &&
  "text" in block &&
  typeof block.text === "string" &&
  hasOnly(block, textKeys) &&
  (!("citations" in block) || block.citations === null);

/** Every call of a reply names who made it, nearly always the model itself. */
function isUsualCaller(block: object): boolean {
  if (!("caller" in block) || block.caller === null) return true;
  const { caller } = block;
  return typeof caller === "object" && hasOnly(caller, callerKeys) && "type" in caller && caller.type === "direct";
}

const textKeys: ReadonlySet<string> = new Set(["type", "text", "citations"]);
const thinkingKeys: ReadonlySet<string> = new Set(["type", "thinking", "signature"]);
const redactedKeys: ReadonlySet<string> = new Set(["type", "data"]);
const callKeys: ReadonlySet<string> = new Set(["type", "id", "name", "input", "caller"]);
const callerKeys: ReadonlySet<string> = new Set(["type"]);
const resultKeys: ReadonlySet<string> = new Set(["type", "tool_use_id", "content", "is_error"]);

function hasOnly(block: object, keys: ReadonlySet<string>): boolean {
  for (const key in block) if (!keys.has(key)) return false;
  return true;
}

/** Other tools' logs, and other providers' models, name calls as they like. */
const toWireName = (name: string): string =>
  toolNamePattern.test(name) ? name : name.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, toolNameCharsMax) || "tool";

/** Ids under which calls are sent: their own, unless the API would refuse it or an id made up for another call is the same. */
export class WireIds {
  readonly #isTaken: (id: ToolUseId) => boolean;
  readonly #wireIdByCall = new Map<ToolUseId, ToolUseId>();
  readonly #callByMadeUpId = new Map<ToolUseId, ToolUseId>();

  constructor(isTaken: (id: ToolUseId) => boolean) {
    this.#isTaken = isTaken;
  }

  wireId(id: ToolUseId): ToolUseId {
    return this.#wireIdByCall.get(id) ?? id;
  }

  /** The id by which the log and its edits name what is sent under this one. */
  loggedId(sent: ToolUseId): ToolUseId {
    return this.#callByMadeUpId.get(sent) ?? sent;
  }

  /** For a call that is not in the view yet. */
  assign(id: ToolUseId): ToolUseId {
    if (callIdPattern.test(id) && !this.#callByMadeUpId.has(id)) return id;
    const known = this.#wireIdByCall.get(id);
    if (known !== undefined) return known;
    const base = `call_${id.replaceAll(/[^a-zA-Z0-9_-]/g, "_")}`;
    let wired = toolUseId(base);
    for (let n = 2; this.#isTaken(wired) || this.#callByMadeUpId.has(wired); n += 1) wired = toolUseId(`${base}_${n}`);
    this.#wireIdByCall.set(id, wired);
    this.#callByMadeUpId.set(wired, id);
    return wired;
  }
}

export interface ResultDisplay {
  readonly toolName: string;
  /** The text that an edit froze for this result. */
  readonly shown: string | undefined;
}

/** A result as it is sent: the frozen text where an edit decided, else its content in a form the API takes, never empty. */
export function resultBlock(block: ToolResultBlock, look: ResultDisplay): Block {
  const content = fillEmpty(look.shown ?? block.content, look.toolName);
  const shown = content === block.content ? block : { ...block, content };
  return toWireBlock(shown) ?? shown;
}

/** What stands for a result without a visible character: the API takes no empty one. */
const noOutput = (toolName: string): string => `(${toolName} completed with no output)`;

export function isEmptyContent(content: ResultContent): boolean {
  return typeof content === "string" ? content.trim() === "" : content.every((part) => isBlankText(part));
}

function fillEmpty(content: ResultContent | undefined, toolName: string): ResultContent {
  if (content === undefined || isEmptyContent(content)) return noOutput(toolName);
  if (typeof content === "string") return content;
  const parts = content.filter((part) => !isBlankText(part)).map((part) => toWirePart(part));
  return parts.length === content.length && parts.every((part, at) => part === content[at]) ? content : parts;
}

const isBlankText = (part: JsonObject): boolean => part["type"] === "text" && textField(part, "text")?.trim() === "";

/** Images and documents of a result: a user's message takes them as blocks of their own. */
export const resultMedia = ({ content }: ToolResultBlock): Block[] =>
  typeof content === "object"
    ? content.filter((part) => isMediaType(part["type"])).map((part) => parseBlock(part))
    : [];

/** The rest of a result's blocks as text. */
export const resultPartsText = (content: readonly JsonObject[]): string =>
  content
    .filter((part) => !isMediaType(part["type"]))
    .map((part) => textField(part, "text") ?? JSON.stringify(part))
    .join("\n") || "(see below)";

/** Does the API take the block in a turn of this role? */
export function isSendable(block: Block, role: "user" | "assistant"): boolean {
  switch (block.type) {
    case "text":
      return true;
    case "tool_use":
    case "thinking":
    case "redacted_thinking":
      return role === "assistant";
    case "tool_result":
      return role === "user";
    case "unknown":
      return false;
    default:
      return roleByPassthroughType[block.type] === role;
  }
}

export const isThinking = (block: Block | undefined): boolean =>
  block?.type === "thinking" || block?.type === "redacted_thinking";

/** The API refuses text without a visible character; leaving it out loses nothing. */
export const isEmptyText = (block: Block): boolean => block.type === "text" && block.text.trim() === "";

export const omissionDetail = (block: Block, role: "user" | "assistant"): string => {
  if (block.type === "unknown") return "a block the API does not take back";
  return isSendable(block, role)
    ? `a ${block.type} block lacks what the API asks of it`
    : `a ${block.type} block does not belong in this turn`;
};

/**
 * The value without the fields that its form does not have or takes in another type; the very value where it fits.
 * Undefined where a field that it must have is missing or wrong: with more left out it would say something else.
 */
function fitToSchema(value: JsonObject, form: z.ZodType): JsonObject | undefined {
  let fitted = value;
  for (let pass = 0; pass < fittingPassesMax; pass += 1) {
    const { error } = form.safeParse(fitted);
    if (error === undefined) return fitted;
    const found = fitted;
    for (const wrong of error.issues.flatMap((issue) => wrongPaths(issue))) {
      const path = findDroppable(found, wrong);
      if (path === undefined) return undefined;
      fitted = withoutPath(fitted, path);
    }
  }
  return undefined;
}

type ValuePath = readonly PropertyKey[];

function wrongPaths(issue: z.core.$ZodIssue): readonly ValuePath[] {
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.map((key) => [...issue.path, key]);
    case "invalid_union": {
      // Of several forms the value is meant to have the one that it follows furthest.
      const branches = issue.errors.map((issues) => issues.flatMap((inner) => wrongPaths(inner)));
      const [meant] = branches.toSorted((one, other) => maxDepth(other) - maxDepth(one));
      return meant === undefined ? [issue.path] : meant.map((path) => [...issue.path, ...path]);
    }
    default:
      return [issue.path];
  }
}

const maxDepth = (paths: readonly ValuePath[]): number => Math.max(0, ...paths.map((path) => path.length));

/** The innermost field on the path that is there. A field may be left out, an element of a list may not. */
function findDroppable(value: JsonObject, path: ValuePath): ValuePath | undefined {
  const passed: Json[] = [value];
  for (const key of path) {
    const inner = getChild(passed.at(-1), key);
    if (inner === undefined) break;
    passed.push(inner);
  }
  for (let length = passed.length - 1; length > 0; length -= 1)
    if (isObject(passed[length - 1])) return path.slice(0, length);
  return undefined;
}

function getChild(value: Json | undefined, key: PropertyKey): Json | undefined {
  if (isArray(value)) return typeof key === "number" ? value[key] : undefined;
  return isObject(value) && typeof key === "string" && Object.hasOwn(value, key) ? value[key] : undefined;
}

function withoutPath(value: JsonObject, path: ValuePath): JsonObject {
  const changed = removeAtPath(value, path);
  return isObject(changed) ? changed : value;
}

/** A copy along the path; what lies beside it is shared. */
function removeAtPath(value: Json, [key, ...rest]: ValuePath): Json {
  if (isArray(value)) return value.map((inner, at) => (at === key ? removeAtPath(inner, rest) : inner));
  if (!isObject(value)) return value;
  const entries = Object.entries(value);
  return Object.fromEntries(
    rest.length === 0
      ? entries.filter(([name]) => name !== key)
      : entries.map(([name, inner]) => [name, name === key ? removeAtPath(inner, rest) : inner]),
  );
}
