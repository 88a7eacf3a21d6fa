import { type Block, isMediaType, parseBlock, toolNameForm } from "../schema/block.ts";
import { isArray, isObject, type Json, type JsonObject } from "../schema/json.ts";
import { toolNameCharsMax } from "../schema/limits.ts";
import { resultPart, wireBlock } from "../schema/wire/block.ts";
import { fit } from "../schema/wire/fit.ts";

/**
 * Blocks as a request may hold them. A log keeps whatever was written into it: misspelt keys, values of another type,
 * fields of a newer version. The API refuses a request for one such key, and every later one with it. So what is sent
 * has only what the wire form has, and the log keeps the rest.
 *
 * A block that is right stays the very object that it was, so that its bytes are known.
 */

/** Undefined where nothing of the block can be sent. Of a result's own blocks `wirePart` takes care. */
export function wireForm(block: Block): Block | undefined {
  if (isRight(block)) return block;
  const whole: JsonObject = { ...block };
  const { content, ...rest } = withoutCacheMark(whole);
  const isResult = block.type === "tool_result";
  const looked = content === undefined || isResult ? rest : { ...rest, content };
  const fitted = fit(looked, wireBlock);
  // Whoever looks at images and documents before they are sent says in their place what is wrong.
  if (fitted === undefined) return isMediaType(looked["type"]) ? block : undefined;
  const named = block.type === "tool_use" ? { ...fitted, name: wireName(block.name) } : fitted;
  const sent = isResult && content !== undefined ? { ...named, content } : named;
  return hasSameFields(whole, sent) ? block : parseBlock(sent);
}

const hasSameFields = (one: JsonObject, other: JsonObject): boolean =>
  Object.keys(one).length === Object.keys(other).length &&
  Object.entries(one).every(([key, value]) => other[key] === value);

/** A block of a result, as text where the API has no such form. */
export function wirePart(part: JsonObject): JsonObject {
  if (isRightText(part)) return part;
  const looked = withoutCacheMark(part);
  const asText: JsonObject = { type: "text", text: JSON.stringify(part) };
  return fit(looked, resultPart) ?? (isMediaType(part["type"]) ? looked : asText);
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
function isRight(block: Block): boolean {
  switch (block.type) {
    case "text":
      return isRightText(block);
    case "thinking":
      return hasOnly(block, thinkingKeys);
    case "redacted_thinking":
      return hasOnly(block, redactedKeys);
    case "tool_use":
      return hasOnly(block, callKeys) && isUsualCaller(block) && toolNameForm.test(block.name);
    case "tool_result":
      return hasOnly(block, resultKeys) && typeof (block.is_error ?? false) === "boolean";
    default:
      return false;
  }
}

/** Replies say `citations: null` of most texts. */
const isRightText = (block: { readonly type?: Json }): boolean =>
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
const wireName = (name: string): string =>
  toolNameForm.test(name) ? name : name.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, toolNameCharsMax) || "tool";
