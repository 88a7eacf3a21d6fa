import type { WrittenMessage } from "palimpsest/internal/context/sync/write-outgoing";
import { field, isArray, isObject, type Json, type JsonObject, textField } from "palimpsest/internal/schema/json";
import type { BodyElement } from "../../body/body-element.ts";
import type { RequestBody } from "../../body/request-body.ts";

const breakpointField = "prompt_cache_breakpoint";

interface EditedList {
  readonly written: readonly WrittenMessage[];
  readonly elements: readonly BodyElement[];
  readonly encode: (value: JsonObject) => Uint8Array;
}

/**
 * Breakpoints of OpenAI's APIs, for the requests of one conversation. Since GPT-5.6 a prefix is cached only up to where a
 * request ended or was marked. The prefix before the next cut is neither: it ends in the middle of every request since the
 * last cut, so that an edit would write the whole conversation again, with tools and instructions once there were 80 later
 * requests. So an edited list is marked before the oldest result that may be cleared.
 */
export class CacheBreakpoints {
  readonly #partsByValue = new WeakMap<JsonObject, JsonObject>();
  readonly #markedByValue = new WeakMap<JsonObject, JsonObject>();
  readonly #isMarkedByClient = new WeakMap<JsonObject, boolean>();

  /** Whether the model has breakpoints, and the client does not want its own alone. */
  isFor(body: RequestBody): boolean {
    const options = body.field("prompt_cache_options");
    const isExplicit = isObject(options) && textField(options, "mode") === "explicit";
    return hasBreakpoints(body.field("model")) && !isExplicit;
  }

  /** Undefined if the model has no breakpoints, or the client sets them itself. */
  edited(
    body: RequestBody,
    { written, elements, encode }: EditedList,
  ): readonly (BodyElement | Uint8Array)[] | undefined {
    if (!this.isFor(body)) return undefined;
    if (elements.some(({ value }) => this.#isMarked(value))) return undefined;
    const at = findPlace(written);
    return written.map(({ value, given }, index) => {
      const element = given === undefined ? undefined : elements[given];
      if (element !== undefined) return element;
      const parts = remember(this.#partsByValue, value, toParts);
      return encode(index === at ? remember(this.#markedByValue, parts, markLastPart) : parts);
    });
  }

  #isMarked(value: JsonObject): boolean {
    return remember(this.#isMarkedByClient, value, (message) =>
      contentParts(message).some((part) => isObject(part) && field(part, breakpointField) !== undefined),
    );
  }
}

/** Other models refuse them, and cache every prefix. */
function hasBreakpoints(model: Json | undefined): boolean {
  const [, major, minor = "0"] = typeof model === "string" ? (/(?:^|[/:])gpt-(\d+)(?:\.(\d+))?/.exec(model) ?? []) : [];
  return major !== undefined && (Number(major) > 5 || (Number(major) === 5 && Number(minor) >= 6));
}

/**
 * The newest message of ours before the last planned mark that is not at the end, where the request is cached anyway. A
 * call can't be marked, and the client's messages stay as they are.
 */
function findPlace(written: readonly WrittenMessage[]): number {
  const planned = written.findLastIndex(({ marks }, at) => marks.length > 0 && at < written.length - 1);
  return written.findLastIndex(({ value, given }, at) => at <= planned && given === undefined && isMarkable(value));
}

const isMarkable = (value: JsonObject): boolean => contentParts(toParts(value)).length > 0;

const contentName = (value: JsonObject): "output" | "content" =>
  field(value, "output") === undefined ? "content" : "output";

function contentParts(value: JsonObject): readonly Json[] {
  const content = field(value, contentName(value));
  return isArray(content) && textField(value, "role") !== "assistant" ? content : [];
}

/** Only parts can be marked. All messages of ours have them, so that none changes its form when the mark moves on. */
function toParts(value: JsonObject): JsonObject {
  const name = contentName(value);
  const content = field(value, name);
  const role = textField(value, "role");
  if (typeof content !== "string" || (name === "content" && role !== "tool" && role !== "user")) return value;
  const type = name === "output" || textField(value, "type") === "message" ? "input_text" : "text";
  return { ...value, [name]: [{ type, text: content }] };
}

function markLastPart(value: JsonObject): JsonObject {
  const parts = contentParts(value);
  const last = parts.at(-1);
  if (!isObject(last)) return value;
  return {
    ...value,
    [contentName(value)]: [...parts.slice(0, -1), { ...last, [breakpointField]: { mode: "explicit" } }],
  };
}

function remember<Value>(known: WeakMap<JsonObject, Value>, key: JsonObject, make: (key: JsonObject) => Value): Value {
  const before = known.get(key);
  if (before !== undefined) return before;
  const value = make(key);
  known.set(key, value);
  return value;
}
