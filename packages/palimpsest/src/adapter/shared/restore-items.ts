import { canonicalJson } from "../../schema/canonical-json.ts";
import {
  field,
  isArray,
  isObject,
  type Json,
  type JsonObject,
  listField,
  parseJson,
  textField,
} from "../../schema/json.ts";

/**
 * The context's messages or items as the framework wrote them, if they say the same: with all of their fields, and with
 * the reasoning and other items that go with them. Only what the context changed is written anew.
 */
export function restoreItems(sent: readonly object[], given: readonly JsonObject[]): readonly JsonObject[] {
  const originals = new Originals(given);
  const callIds = new Map<string, string>();
  return sent.flatMap((item) => {
    const json = parseJson(JSON.stringify(item));
    if (!isObject(json)) return [];
    const answered = resultCallId(json);
    const found =
      answered === undefined ? originals.find(json) : originals.findResult(json, callIds.get(answered) ?? answered);
    if (found === undefined) return [withCallId(json, callIds)];
    // Ids may differ if the same call stands on two branches.
    const [ids, own] = [listCallIds(json), listCallIds(found.item)];
    for (const [at, id] of ids.entries()) callIds.set(id, own[at] ?? id);
    return found.together;
  });
}

interface Original {
  readonly item: JsonObject;
  /** The item, and those without a meaning of their own around it. */
  readonly together: readonly JsonObject[];
}

/** Found by what they say. The context keeps their order, so each is used once. Of the same calls, that with the same id is meant. */
class Originals {
  readonly #byKey = new Map<string, Original[]>();
  readonly #resultByCall = new Map<string, Original>();

  constructor(given: readonly JsonObject[]) {
    let companions: JsonObject[] = [];
    let last: JsonObject[] | undefined;
    for (const item of given) {
      const key = itemKey(item);
      if (key === undefined) {
        companions.push(item);
        continue;
      }
      last = [...companions, item];
      companions = [];
      const original = { item, together: last };
      const answered = resultCallId(item);
      if (answered === undefined) this.#byKey.set(key, [...(this.#byKey.get(key) ?? []), original]);
      else this.#resultByCall.set(answered, original);
    }
    last?.push(...companions);
  }

  find(item: JsonObject): Original | undefined {
    const alike = this.#byKey.get(itemKey(item) ?? "") ?? [];
    const ids = listCallIds(item).join(" ");
    const at = alike.findIndex((original) => listCallIds(original.item).join(" ") === ids);
    return alike.splice(Math.max(at, 0), 1)[0];
  }

  /** Results may say the same, so a result is the one of its call. */
  findResult(item: JsonObject, call: string): Original | undefined {
    const original = this.#resultByCall.get(call);
    return original !== undefined && itemKey(original.item) === itemKey(item) ? original : undefined;
  }
}

/** The call that a result answers; undefined for other items. */
const resultCallId = (item: JsonObject): string | undefined =>
  textField(item, "type") === "function_call_output" ? textField(item, "call_id") : textField(item, "tool_call_id");

/** What a message or an item says, without its ids. Undefined for one that goes with its neighbour, such as reasoning. */
function itemKey(item: JsonObject): string | undefined {
  const role = textField(item, "role");
  switch (textField(item, "type") ?? "message") {
    case "message":
      return role === undefined
        ? undefined
        : `${role} ${contentKey(field(item, "content"))} ${listField(item, "tool_calls").map(callKey).join(" ")}`;
    case "function_call":
      return `call ${textField(item, "name") ?? ""} ${argumentsKey(field(item, "arguments"))}`;
    case "function_call_output":
      return `output ${contentKey(field(item, "output"))}`;
    default:
      return undefined;
  }
}

function callKey(call: Json): string {
  const called = isObject(call) ? field(call, "function") : undefined;
  return isObject(called) ? `${textField(called, "name") ?? ""} ${argumentsKey(field(called, "arguments"))}` : "";
}

/** Written again by the context, so spaces and the order of keys do not count. */
function argumentsKey(value: Json | undefined): string {
  if (typeof value !== "string" || value === "") return "{}";
  try {
    return canonicalJson(parseJson(value));
  } catch {
    return "{}";
  }
}

function contentKey(content: Json | undefined): string {
  if (typeof content === "string") return content;
  if (!isArray(content)) return "";
  return content
    .filter(isObject)
    .map((part) => textField(part, "text") ?? textField(part, "refusal") ?? mediaKey(part))
    .join("\n\n");
}

const mediaKey = (part: JsonObject): string => {
  const image = field(part, "image_url");
  const file = field(part, "file");
  return JSON.stringify(isObject(image) ? field(image, "url") : (image ?? (isObject(file) ? file : part)));
};

const listCallIds = (item: JsonObject): readonly string[] => [
  ...listField(item, "tool_calls").flatMap((call) => (isObject(call) ? (textField(call, "id") ?? []) : [])),
  ...(textField(item, "call_id") === undefined ? [] : [textField(item, "call_id") ?? ""]),
];

/** A result that the context cleared still answers the framework's call. */
function withCallId(item: JsonObject, callIds: ReadonlyMap<string, string>): JsonObject {
  const fields = ["tool_call_id", "call_id"].flatMap((key) => {
    const id = textField(item, key);
    const own = id === undefined ? undefined : callIds.get(id);
    return own === undefined ? [] : [[key, own] as const];
  });
  return { ...item, ...Object.fromEntries(fields) };
}
