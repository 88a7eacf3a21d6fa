import { field, isArray, isObject, type Json, type JsonObject, parseJson } from "palimpsest/internal/schema/json";
import type { ReplyMessage } from "palimpsest/internal/schema/wire/reply";
import { sortedFields } from "../canonical.ts";

/** What a thread has of its conversation: all that a next request need not send again. */
export interface Held {
  readonly messages: readonly Json[];
  readonly system: Json | undefined;
  readonly tools: Json | undefined;
  /** Fields that must stay the same, by name; the default where the request left one out. */
  readonly fixed: JsonObject;
  /** JSON of it. */
  readonly chars: number;
}

/** Fields that the thread brings along: a request that continues it must not repeat them. */
export const createOnlyFields = ["system", "tools"] as const;

/** Where the conversation was read, and by whom: what is held is of no use elsewhere. */
const fixedFields = ["model", "speed", "inference_geo"] as const;

const fixedOf = (body: JsonObject): JsonObject =>
  Object.fromEntries(fixedFields.map((name) => [name, field(body, name) ?? fixedDefaults[name]]));

/** A default that is spelled out is no other value. */
const fixedDefaults: Readonly<Record<(typeof fixedFields)[number], Json>> = {
  model: null,
  speed: "standard",
  inference_geo: null,
};

/** Names of fields that are not what the thread holds; one that it brings along counts only where it was sent. */
export function mismatches(held: Held, body: JsonObject): readonly string[] {
  const sent = fixedOf(body);
  const fixed = fixedFields.filter((name) => !isSame(field(held.fixed, name), field(sent, name)));
  const repeated = createOnlyFields.filter((name) => isSent(body, name) && !isSame(held[name], field(body, name)));
  return [...fixed, ...repeated];
}

/** An empty list says nothing. */
export function isSent(body: JsonObject, name: string): boolean {
  const value = field(body, name) ?? null;
  return value !== null && !(isArray(value) && value.length === 0);
}

const isSame = (one: Json | undefined, other: Json | undefined): boolean =>
  JSON.stringify(one ?? null, sortedFields) === JSON.stringify(other ?? null, sortedFields);

/** The request as it would have been without a thread. Messages keep their identity, so that what is known of them counts. */
export function wholeBody(held: Held, body: JsonObject): JsonObject {
  const { messages, system, tools } = held;
  return {
    ...body,
    messages: [...messages, ...messagesOf(body)],
    ...(system === undefined ? {} : { system }),
    ...(tools === undefined ? {} : { tools }),
  };
}

export interface Answered {
  /** The request, whole. */
  readonly body: JsonObject;
  readonly reply: ReplyMessage;
  /** What the thread held before it. */
  readonly before: Held | undefined;
}

/**
 * What the thread holds behind a reply. Markers of what was answered are gone: each belonged to the request that brought
 * it, and all of them together would be more than one request may have. Of a conversation that was summed up the
 * summary is left. A reply that said nothing leaves nothing, and so does a compaction that failed.
 */
export function heldBehind({ body, reply, before }: Answered): Held {
  const content = reply.content.filter((block) => !(block.type === "compaction" && block.content === null));
  const said: readonly Json[] =
    content.length === 0 ? [] : [{ role: "assistant", content: parseJson(JSON.stringify(content)) }];
  const system = field(body, "system");
  const tools = field(body, "tools");
  const rest = { system, tools, fixed: fixedOf(body) };
  const isSummed = content.some(({ type }) => type === "compaction");
  if (isSummed) return { ...rest, messages: said, chars: charsOf([said, system, tools]) };
  const asked = messagesOf(body)
    .slice(before?.messages.length ?? 0)
    .map(unmarked);
  return {
    ...rest,
    messages: [...(before?.messages ?? []), ...asked, ...said],
    chars: charsOf([asked, said]) + (before?.chars ?? charsOf([system, tools])),
  };
}

const charsOf = (values: readonly (Json | undefined)[]): number => JSON.stringify(values).length;

function messagesOf(body: JsonObject): readonly Json[] {
  const messages = field(body, "messages");
  return isArray(messages) ? messages : [];
}

/** Where a message holds what may be marked: blocks, parts of results, definitions. A call's input is the caller's own. */
const holders = ["content", "tool", "definition"] as const;

/** Itself where nothing in it is marked. */
function unmarked(value: Json): Json {
  if (isArray(value)) {
    const bare = value.map(unmarked);
    return bare.some((item, at) => item !== value[at]) ? bare : value;
  }
  if (!isObject(value)) return value;
  const { cache_control: marker, ...rest } = value;
  const changed = holders.flatMap((name): readonly (readonly [string, Json])[] => {
    const inner = field(value, name);
    const bare = inner === undefined ? undefined : unmarked(inner);
    return bare === undefined || bare === inner ? [] : [[name, bare]];
  });
  return marker === undefined && changed.length === 0 ? value : { ...rest, ...Object.fromEntries(changed) };
}
