import { field, isArray, isObject, type Json, type JsonObject } from "palimpsest/internal/schema/json";
import { internedCharsMax, internedConversationsMax } from "../limits.ts";
import { LruMap } from "palimpsest/internal/cache/lru-map";

/**
 * Gives tools, system prompt and messages of a conversation the object identity that they had in its last request, if
 * they are equal. Clients over HTTP send everything anew each time; comparing costs a fraction of checking and hashing
 * it again, which is then done only for what is new.
 */
export class BodyInterner {
  readonly #conversations = new LruMap<string, Conversation>(internedConversationsMax);
  #chars = 0;

  /** The body with equal parts replaced by the known objects. Remembers nothing yet. */
  reuseKnown(body: Json): Json {
    const messages = bodyMessages(body);
    if (!isObject(body) || messages === undefined) return body;
    const before = this.#conversations.get(conversationKey(messages));
    if (before === undefined) return body;
    const shared: Record<string, Json> = {};
    for (const name of internedFields) {
      const value = field(body, name);
      if (value !== undefined) shared[name] = reuseField(before.parts, { name, value });
    }
    return { ...body, ...shared };
  }

  /** Called for accepted requests only: a refused one is not remembered. */
  remember(body: Json): void {
    const messages = bodyMessages(body);
    if (!isObject(body) || messages === undefined) return;
    const key = conversationKey(messages);
    const before = this.#conversations.peek(key);
    const known = new Set<Json>(before === undefined ? [] : listInternedItems(before.parts));
    let chars = 0;
    for (const item of listInternedItems(body)) chars += known.has(item) ? 0 : estimateChars(item);
    // What left the conversation still counts until the whole conversation is forgotten: an overestimate, to be safe.
    const displaced = this.#conversations.set(key, {
      parts: pickInternedFields(body),
      chars: (before?.chars ?? 0) + chars,
    });
    this.#chars += chars - (displaced?.chars ?? 0);
    while (this.#chars > internedCharsMax && this.#conversations.oldest !== undefined)
      this.#chars -= this.#conversations.take(this.#conversations.oldest)?.chars ?? 0;
  }
}

interface Conversation {
  /** Only the fields that are compared: nothing else of a body is kept. */
  readonly parts: JsonObject;
  readonly chars: number;
}

const internedFields = ["tools", "system", "messages"] as const;

const pickInternedFields = (body: JsonObject): JsonObject => {
  const { tools = null, system = null, messages = null } = body;
  return { tools, system, messages };
};

function bodyMessages(body: Json): readonly Json[] | undefined {
  const messages = isObject(body) ? field(body, "messages") : undefined;
  return isArray(messages) ? messages : undefined;
}

const listInternedItems = (body: JsonObject): readonly Json[] =>
  internedFields.flatMap((name) => {
    const value = field(body, name);
    return isArray(value) ? value : value === undefined ? [] : [value];
  });

function reuseField(before: JsonObject, { name, value }: { readonly name: string; readonly value: Json }): Json {
  const known = field(before, name);
  if (!isArray(value) || !isArray(known)) return value;
  return value.map((item, at) => {
    const old = known[at];
    return old !== undefined && isSame(old, item) ? old : item;
  });
}

/** Conversations are told apart by how they begin. Two that begin alike only cost each other the comparison. */
const conversationKey = ([first]: readonly Json[]): string => JSON.stringify(firstChars(first ?? null));

function firstChars(value: Json): Json {
  if (typeof value === "string") return value.slice(0, keyCharsMax);
  if (isArray(value)) return value.slice(0, 1).map(firstChars);
  if (!isObject(value)) return value;
  return firstChars(field(value, "content") ?? field(value, "text") ?? null);
}

const keyCharsMax = 500;

function isSame(one: Json, other: Json): boolean {
  if (one === other) return true;
  if (isArray(one))
    return isArray(other) && one.length === other.length && one.every((item, at) => isSame(item, other[at] ?? null));
  if (!isObject(one) || !isObject(other) || isArray(other)) return false;
  const names = Object.keys(one);
  // In order, because the model is shown the order of fields.
  const others = Object.keys(other);
  return (
    names.length === others.length &&
    names.every((name, at) => name === others[at] && isSame(one[name] ?? null, other[name] ?? null))
  );
}

/** Estimated memory: an object with its keys, and what is attached to it elsewhere, needs far more than its text. */
function estimateChars(value: Json): number {
  if (typeof value === "string") return value.length + nodeChars;
  if (isArray(value)) return value.reduce<number>((sum, item) => sum + estimateChars(item), nodeChars);
  if (!isObject(value)) return nodeChars;
  let sum = nodeChars;
  for (const [name, item] of Object.entries(value)) sum += name.length + estimateChars(item);
  return sum;
}

const nodeChars = 100;
