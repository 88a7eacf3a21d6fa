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
 * The block as a request may hold it; undefined if it can't be sent. `toWirePart` handles the blocks inside a result.
 *
 * A log keeps whatever was written into it: misspelt keys, values of another type, fields of a newer version. The API
 * refuses a request for a single such key, and every later request with it. So only the fields of the wire format are
 * sent, and the log keeps the rest.
 *
 * A valid block stays the same object, so that caches of its bytes stay valid.
 */
export function toWireBlock(block: Block): Block | undefined {
  if (isWireReady(block)) return block;
  const whole: JsonObject = { ...block };
  const { content, ...rest } = withoutCacheMark(whole);
  const isResult = block.type === "tool_result";
  const candidate = content === undefined || isResult ? rest : { ...rest, content };
  const fitted = fitToSchema(candidate, wireBlock);
  // Images and documents are checked again before they are sent; a text then replaces them and says what is wrong.
  if (fitted === undefined) return isMediaType(candidate["type"]) ? block : undefined;
  const named = block.type === "tool_use" ? { ...fitted, name: toWireName(block.name) } : fitted;
  const sent = isResult && content !== undefined ? { ...named, content } : named;
  return hasSameFields(whole, sent) ? block : parseBlock(sent);
}

const hasSameFields = (left: JsonObject, right: JsonObject): boolean =>
  Object.keys(left).length === Object.keys(right).length &&
  Object.entries(left).every(([key, value]) => right[key] === value);

/** A block inside a result; becomes text if the API has no such block. */
export function toWirePart(part: JsonObject): JsonObject {
  if (isPlainText(part)) return part;
  const unmarked = withoutCacheMark(part);
  const asText: JsonObject = { type: "text", text: JSON.stringify(part) };
  return fitToSchema(unmarked, resultPart) ?? (isMediaType(part["type"]) ? unmarked : asText);
}

/**
 * Removes the cache markers of a recorded request, also inside the block: a request may have only a few, and they are
 * set again. A key in a call's input is not a marker, and a block that a provider signed stays unchanged.
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
  const stripped = value.map((element) => withoutInnerCacheMarks(element));
  return stripped.every((element, at) => element === value[at]) ? value : stripped;
}

/** Checks key by key: nearly all blocks of a log are of these kinds, and a schema would cost ten times as much. */
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

/** Most texts of replies have `citations: null`. */
const isPlainText = (block: { readonly type?: Json }): boolean =>
  block.type === "text" &&
  "text" in block &&
  typeof block.text === "string" &&
  hasOnly(block, textKeys) &&
  (!("citations" in block) || block.citations === null);

/** Every call of a reply names its caller, nearly always the model itself. */
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

/** Logs of other programs and models of other providers may contain names that the API refuses. */
const toWireName = (name: string): string =>
  toolNamePattern.test(name) ? name : name.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, toolNameCharsMax) || "tool";

/**
 * The ids under which calls are sent: their own, unless the API would refuse it or it equals an id generated for
 * another call.
 */
export class WireIds {
  readonly #isTaken: (id: ToolUseId) => boolean;
  readonly #wireIdByCall = new Map<ToolUseId, ToolUseId>();
  readonly #callByGeneratedId = new Map<ToolUseId, ToolUseId>();

  constructor(isTaken: (id: ToolUseId) => boolean) {
    this.#isTaken = isTaken;
  }

  wireId(id: ToolUseId): ToolUseId {
    return this.#wireIdByCall.get(id) ?? id;
  }

  /** The id that the log and its edits use for the call that is sent under this one. */
  loggedId(sent: ToolUseId): ToolUseId {
    return this.#callByGeneratedId.get(sent) ?? sent;
  }

  /** For a call that is not in the view yet. */
  assign(id: ToolUseId): ToolUseId {
    if (callIdPattern.test(id) && !this.#callByGeneratedId.has(id)) return id;
    const known = this.#wireIdByCall.get(id);
    if (known !== undefined) return known;
    const base = `call_${id.replaceAll(/[^a-zA-Z0-9_-]/g, "_")}`;
    let generated = toolUseId(base);
    for (let n = 2; this.#isTaken(generated) || this.#callByGeneratedId.has(generated); n += 1)
      generated = toolUseId(`${base}_${n}`);
    this.#wireIdByCall.set(id, generated);
    this.#callByGeneratedId.set(generated, id);
    return generated;
  }
}

interface ResultDisplay {
  readonly toolName: string;
  /** The text that an edit froze for this result. */
  readonly shown: string | undefined;
}

/** A result as it is sent: the text that an edit froze, or else its content in a form that the API accepts, never empty. */
export function resultBlock(block: ToolResultBlock, look: ResultDisplay): Block {
  const content = fillEmpty(look.shown ?? block.content, look.toolName);
  const shown = content === block.content ? block : { ...block, content };
  return toWireBlock(shown) ?? shown;
}

/** Replaces a result without a visible character, because the API refuses empty ones. */
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

/** Images and documents of a result, as blocks for a user message. */
export const resultMedia = ({ content }: ToolResultBlock): Block[] =>
  typeof content === "object"
    ? content.filter((part) => isMediaType(part["type"])).map((part) => parseBlock(part))
    : [];

/** The other blocks of a result, as text. */
export const resultPartsText = (content: readonly JsonObject[]): string =>
  content
    .filter((part) => !isMediaType(part["type"]))
    .map((part) => textField(part, "text") ?? JSON.stringify(part))
    .join("\n") || "(see below)";

/** Whether the API accepts the block in a message of this role. */
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
 * The value without the fields that the schema does not have or that have the wrong type; the same object if it fits.
 * Undefined if a required field is missing or wrong: leaving out more would change the meaning.
 */
function fitToSchema(value: JsonObject, schema: z.ZodType): JsonObject | undefined {
  let fitted = value;
  for (let pass = 0; pass < fittingPassesMax; pass += 1) {
    const { error } = schema.safeParse(fitted);
    if (error === undefined) return fitted;
    const current = fitted;
    for (const wrong of error.issues.flatMap((issue) => wrongPaths(issue))) {
      const path = findDroppable(current, wrong);
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
      // The branch whose errors lie deepest is the one that the value was most likely meant for.
      const branches = issue.errors.map((issues) => issues.flatMap((inner) => wrongPaths(inner)));
      const [meant] = branches.toSorted((left, right) => maxDepth(right) - maxDepth(left));
      return meant === undefined ? [issue.path] : meant.map((path) => [...issue.path, ...path]);
    }
    default:
      return [issue.path];
  }
}

const maxDepth = (paths: readonly ValuePath[]): number => Math.max(0, ...paths.map((path) => path.length));

/** The innermost existing field on the path. A field may be left out, an element of a list may not. */
function findDroppable(value: JsonObject, path: ValuePath): ValuePath | undefined {
  const ancestors: Json[] = [value];
  for (const key of path) {
    const inner = getChild(ancestors.at(-1), key);
    if (inner === undefined) break;
    ancestors.push(inner);
  }
  for (let length = ancestors.length - 1; length > 0; length -= 1)
    if (isObject(ancestors[length - 1])) return path.slice(0, length);
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

/** Copies only the values along the path; the others are shared. */
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

/**
 * Caches results as they are sent, each until its look changes: a view that is rebuilt shows the same block objects as
 * before, so that caches keyed by block stay valid.
 */
export class ResultLooks {
  readonly #lookByResult = new WeakMap<
    ToolResultBlock,
    ResultDisplay & { readonly id: string; readonly block: Block }
  >();

  /** `id`: the id under which the result is sent. */
  show(
    result: ToolResultBlock,
    { id, toolName, shown }: ResultDisplay & { readonly id: ToolResultBlock["tool_use_id"] },
  ): Block {
    const known = this.#lookByResult.get(result);
    if (known?.shown === shown && known?.id === id && known.toolName === toolName) return known.block;
    const sent = id === result.tool_use_id ? result : { ...result, tool_use_id: id };
    const block = resultBlock(sent, { toolName, shown });
    // Most results are sent as they are logged: then there is no new block to cache.
    if (block !== result) this.#lookByResult.set(result, { id, toolName, shown, block });
    return block;
  }
}
