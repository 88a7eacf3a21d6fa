import type { Millis } from "palimpsest/internal/schema/brand";
import { field, isObject, type Json, type JsonObject, isArray, parseJson } from "palimpsest/internal/schema/json";
import { threadParam } from "palimpsest/internal/schema/wire/messages-request";
import type { ReplyMessage } from "palimpsest/internal/schema/wire/reply-message";
import { threadCharsMax, threadMillisMax, threadsMax } from "./limits.ts";
import { LruMap } from "palimpsest/internal/cache/lru-map";
import { invalid, type Refusal, refusal } from "./refusal.ts";
import { sortFields } from "./prompt/canonical-block.ts";

interface ThreadCall {
  readonly body: Json;
  readonly workspace: string;
  readonly betas: ReadonlySet<string>;
}

/** `body` is complete, whatever was sent. `turn` is present only if the request names a thread. */
type OpenThreadOutcome = { readonly kind: "whole"; readonly body: Json; readonly turn?: ThreadTurn } | Refusal;

interface ThreadTurn {
  /** Called with the reply once it is complete, or with undefined if there will be none. Only the first call counts. */
  readonly settle: (reply: ReplyMessage | undefined) => void;
}

/**
 * Conversations that the server holds between two requests, by the reply that the next request continues from:
 *
 *     absent      -- complete reply to a request that names a thread -->             open
 *     open        -- a request continues from it -->                                 continuing
 *     continuing  -- its reply is complete -->                                       continued; the new reply is open
 *     continuing  -- refused, failed, broken off, or the model refused -->           open
 *     open        -- five minutes since its last request -->                         absent; so is a continued one
 *     any         -- least recently used, if there are too many -->                  absent
 *
 * A continued one is kept without its conversation, to report that it was continued. Every request that names a reply
 * counts as its last request, whatever its outcome.
 */
export class Threads {
  readonly #entryByReply: LruMap<string, ThreadEntry>;
  readonly #now: () => Millis;
  readonly #charsMax: number;
  #chars = 0;

  constructor(
    now: () => Millis,
    limits: { readonly threadsMax: number; readonly charsMax: number } = { threadsMax, charsMax: threadCharsMax },
  ) {
    this.#now = now;
    this.#entryByReply = new LruMap(limits.threadsMax);
    this.#charsMax = limits.charsMax;
  }

  /**
   * Returns the complete request, and reserves the thread for this request until it is settled. Does nothing if the
   * request names no thread.
   */
  open(call: ThreadCall): OpenThreadOutcome {
    const found = this.#find(call);
    if (found.kind === "refused" || found.kind === "none")
      return found.kind === "none" ? wholeRequest(call.body) : found;
    const { body, entry } = found;
    if (entry !== undefined) entry.state = "continuing";
    const turn = { workspace: call.workspace, body, entry };
    let isSettled = false;
    return {
      ...wholeRequest(body),
      turn: {
        settle: (reply) => {
          if (!isSettled) this.#settle(turn, reply);
          isSettled = true;
        },
      },
    };
  }

  /** The body that `open` would return. It only renews the thread's lifetime. */
  preview(call: ThreadCall & { readonly body: JsonObject }): JsonObject {
    const found = this.#find(call);
    return found.kind === "found" ? found.body : call.body;
  }

  #find(call: ThreadCall): FoundThread | { readonly kind: "none" } | Refusal {
    const { body, workspace, betas } = call;
    if (!isObject(body) || !isSent(body, "thread")) return { kind: "none" };
    if (!betas.has(threadsBeta)) return invalid("Extra inputs are not permitted", "thread");
    const thread = threadParam.safeParse(field(body, "thread"));
    // Reported with the other problems of the request's shape.
    if (!thread.success) return { kind: "none" };
    const unsupported = findUnsupported(body);
    if (unsupported.length > 0) return combinationRefusal(unsupported);
    if (thread.data.type === "create") return { kind: "found", body, entry: undefined };
    return this.#continueThread(threadKey(workspace, thread.data.previous_message_id), {
      body,
      id: thread.data.previous_message_id,
    });
  }

  #continueThread(
    key: string,
    { body, id }: { readonly body: JsonObject; readonly id: string },
  ): FoundThread | Refusal {
    const entry = this.#entryByReply.get(key);
    if (entry === undefined) return threadNotFound(id);
    if (entry.state !== "continuing" && this.#now() >= entry.usedAt + threadMillisMax) {
      this.#release(this.#entryByReply.take(key));
      return threadNotFound(id);
    }
    entry.usedAt = this.#now();
    if (entry.state === "continuing") return continueInFlight(id);
    const { held } = entry;
    if (held === undefined) return alreadyContinued(id);
    const fields = findMismatches(held, body);
    if (fields.length > 0) return fingerprintMismatch(fields);
    const repeated = createOnlyFields.find((name) => isSent(body, name));
    return repeated === undefined
      ? { kind: "found", body: wholeBody(held, body), entry }
      : createOnlyFieldRefusal(repeated);
  }

  #settle(
    {
      workspace,
      body,
      entry,
    }: { readonly workspace: string; readonly body: JsonObject; readonly entry: ThreadEntry | undefined },
    reply: ReplyMessage | undefined,
  ): void {
    const usedAt = this.#now();
    const before = entry?.held;
    const isAnswered = reply !== undefined && reply.stop_reason !== "refusal";
    if (entry !== undefined) {
      entry.usedAt = usedAt;
      entry.state = isAnswered ? "continued" : "open";
      if (isAnswered) this.#release(entry);
    }
    if (!isAnswered) return;
    const held = holdAfterReply({ body, reply, before });
    this.#chars += held.chars;
    this.#release(this.#entryByReply.set(threadKey(workspace, reply.id), { state: "open", held, usedAt }));
    while (this.#chars > this.#charsMax && this.#entryByReply.oldest !== undefined)
      this.#release(this.#entryByReply.take(this.#entryByReply.oldest));
  }

  /** Releases an entry's conversation. */
  #release(entry: ThreadEntry | undefined): void {
    if (entry === undefined) return;
    this.#chars -= entry.held?.chars ?? 0;
    entry.held = undefined;
  }
}

interface ThreadEntry {
  state: "open" | "continuing" | "continued";
  /** Undefined once it is continued or forgotten. */
  held: HeldConversation | undefined;
  usedAt: Millis;
}

interface FoundThread {
  readonly kind: "found";
  readonly body: JsonObject;
  readonly entry: ThreadEntry | undefined;
}

const threadsBeta = "message-threads-2026-08-12";

const wholeRequest = (body: Json) => ({ kind: "whole", body }) as const;

const threadKey = (workspace: string, messageId: string): string => `${workspace} ${messageId}`;

/**
 * The top-level `cache_control` marks whatever comes last and is unsupported; markers on blocks are supported. Thinking
 * that is disabled does not count.
 */
function findUnsupported(body: JsonObject): readonly UnsupportedFeature[] {
  const thinking = field(body, "thinking");
  const thinks = isObject(thinking) && field(thinking, "type") !== "disabled";
  return [
    ...(isSent(body, "cache_control") ? (["cache_control"] as const) : []),
    ...(isSent(body, "context_management") ? (["context_management"] as const) : []),
    ...(thinks ? (["thinking"] as const) : []),
  ];
}

/** What a thread keeps of its conversation: everything that the next request need not send again. */
interface HeldConversation {
  readonly messages: readonly Json[];
  readonly system: Json | undefined;
  readonly tools: Json | undefined;
  /** Fields that must stay the same, by name; the default if the request left one out. */
  readonly fixed: JsonObject;
  /** Length of its JSON. */
  readonly chars: number;
}

/** Fields that the thread keeps: a request that continues it must not repeat them. */
const createOnlyFields = ["system", "tools"] as const;

/** What determines where and by which model the conversation was read: what is held is useless elsewhere. */
const fixedFields = ["model", "speed", "inference_geo"] as const;

const pickFixedFields = (body: JsonObject): JsonObject =>
  Object.fromEntries(fixedFields.map((name) => [name, field(body, name) ?? fixedDefaults[name]]));

/** A default that is spelled out counts as left out. */
const fixedDefaults: Readonly<Record<(typeof fixedFields)[number], Json>> = {
  model: null,
  speed: "standard",
  inference_geo: null,
};

/** Names of fields that differ from what the thread holds; a field that the thread keeps counts only if it was sent. */
function findMismatches(held: HeldConversation, body: JsonObject): readonly string[] {
  const sent = pickFixedFields(body);
  const fixed = fixedFields.filter((name) => !isSame(field(held.fixed, name), field(sent, name)));
  const repeated = createOnlyFields.filter((name) => isSent(body, name) && !isSame(held[name], field(body, name)));
  return [...fixed, ...repeated];
}

/** An empty list does not count as sent. */
function isSent(body: JsonObject, name: string): boolean {
  const value = field(body, name) ?? null;
  return value !== null && !(isArray(value) && value.length === 0);
}

const isSame = (one: Json | undefined, other: Json | undefined): boolean =>
  JSON.stringify(one ?? null, sortFields) === JSON.stringify(other ?? null, sortFields);

/**
 * The request as it would have been without a thread. Messages keep their object identity, so that what is cached for
 * them is found.
 */
function wholeBody(held: HeldConversation, body: JsonObject): JsonObject {
  const { messages, system, tools } = held;
  return {
    ...body,
    messages: [...messages, ...bodyMessages(body)],
    ...(system === undefined ? {} : { system }),
    ...(tools === undefined ? {} : { tools }),
  };
}

interface AnsweredRequest {
  /** The complete request. */
  readonly body: JsonObject;
  readonly reply: ReplyMessage;
  /** What the thread held before the request. */
  readonly before: HeldConversation | undefined;
}

/**
 * What the thread holds after a reply. Cache markers of answered messages are removed: each belonged to the request
 * that brought it, and all of them together would exceed what one request may have. If the conversation was compacted,
 * only the summary is kept. An empty reply adds nothing, and neither does a compaction that failed.
 */
function holdAfterReply({ body, reply, before }: AnsweredRequest): HeldConversation {
  const content = reply.content.filter((block) => !(block.type === "compaction" && block.content === null));
  const replyMessages: readonly Json[] =
    content.length === 0 ? [] : [{ role: "assistant", content: parseJson(JSON.stringify(content)) }];
  const system = field(body, "system");
  const tools = field(body, "tools");
  const rest = { system, tools, fixed: pickFixedFields(body) };
  const isSummed = content.some(({ type }) => type === "compaction");
  if (isSummed) return { ...rest, messages: replyMessages, chars: countJsonChars([replyMessages, system, tools]) };
  const newMessages = bodyMessages(body)
    .slice(before?.messages.length ?? 0)
    .map(stripMarkers);
  return {
    ...rest,
    messages: [...(before?.messages ?? []), ...newMessages, ...replyMessages],
    chars: countJsonChars([newMessages, replyMessages]) + (before?.chars ?? countJsonChars([system, tools])),
  };
}

const countJsonChars = (values: readonly (Json | undefined)[]): number => JSON.stringify(values).length;

function bodyMessages(body: JsonObject): readonly Json[] {
  const messages = field(body, "messages");
  return isArray(messages) ? messages : [];
}

/**
 * Where a message may hold marked values: blocks, parts of results, definitions. A call's input belongs to the caller.
 */
const markerHolders = ["content", "tool", "definition"] as const;

/** Returns the value itself if nothing in it is marked. */
function stripMarkers(value: Json): Json {
  if (isArray(value)) {
    const bare = value.map(stripMarkers);
    return bare.some((item, at) => item !== value[at]) ? bare : value;
  }
  if (!isObject(value)) return value;
  const { cache_control: marker, ...rest } = value;
  const changed = markerHolders.flatMap((name): readonly (readonly [string, Json])[] => {
    const inner = field(value, name);
    const bare = inner === undefined ? undefined : stripMarkers(inner);
    return bare === undefined || bare === inner ? [] : [[name, bare]];
  });
  return marker === undefined && changed.length === 0 ? value : { ...rest, ...Object.fromEntries(changed) };
}

/** What a thread cannot be combined with, under the API's own names. */
type UnsupportedFeature = "cache_control" | "context_management" | "thinking";

const replay = 'send the whole conversation with `thread: {"type": "create"}`';

const threadNotFound = (id: string): Refusal =>
  refusal("not_found_error", `thread: no thread goes on from '${id}'; ${replay}`, { errorCode: "thread_not_found" });

const alreadyContinued = (id: string): Refusal => ({
  ...invalid(`'${id}' has been continued already: go on from the thread's newest response`, previousId),
  errorCode: "thread_already_continued",
});

const continueInFlight = (id: string): Refusal => ({
  ...invalid(`another request is still continuing from '${id}': wait for it, or ${replay}`, previousId),
  errorCode: "thread_continue_in_flight",
});

const fingerprintMismatch = (fields: readonly string[]): Refusal => ({
  ...invalid(`differs from what the thread holds: ${formatNames(fields)}; send the same, or ${replay}`, "thread"),
  errorCode: "thread_fingerprint_mismatch",
});

const createOnlyFieldRefusal = (name: string): Refusal =>
  invalid("the thread holds it: leave it out when continuing", name);

const combinationRefusal = (unsupported: readonly UnsupportedFeature[]): Refusal => ({
  ...invalid(`not supported together with ${formatNames(unsupported)}`, "thread"),
  errorCode: "thread_unsupported_request",
  unsupported,
});

const previousId = "thread.previous_message_id";

const formatNames = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(", ");
