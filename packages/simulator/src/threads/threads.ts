import type { Millis } from "palimpsest/internal/schema/brand";
import { field, isObject, type Json, type JsonObject } from "palimpsest/internal/schema/json";
import { threadParam } from "palimpsest/internal/schema/wire/context-management";
import type { ReplyMessage } from "palimpsest/internal/schema/wire/reply";
import { threadCharsMax, threadMillisMax, threadsMax } from "../limits.ts";
import { Recent } from "palimpsest/internal/cache/recent";
import { invalid, type Refusal } from "../refusal.ts";
import { createOnlyFields, type Held, heldBehind, isSent, mismatches, wholeBody } from "./held.ts";
import {
  alreadyContinued,
  continueInFlight,
  fingerprintMismatch,
  heldByThread,
  threadNotFound,
  type UnsupportedFeature,
  unsupportedRequest,
} from "./refusals.ts";

export interface ThreadCall {
  readonly body: Json;
  readonly workspace: string;
  readonly betas: ReadonlySet<string>;
}

/** `body`: whole, whatever was sent. `turn` only where the request names a thread. */
export type Opened = { readonly kind: "whole"; readonly body: Json; readonly turn?: ThreadTurn } | Refusal;

export interface ThreadTurn {
  /** With the reply once it is whole, with nothing where there will be none. The first call counts. */
  readonly settle: (reply: ReplyMessage | undefined) => void;
}

export interface ThreadLimits {
  readonly threadsMax: number;
  readonly charsMax: number;
}

/**
 * Conversations that the server holds between two requests, by the reply that the next one goes on from:
 *
 *     absent      -- whole reply to a request that creates or continues a thread -->  open
 *     open        -- a request continues from it -->                                 continuing
 *     continuing  -- its reply is whole -->                                          continued; the new reply is open
 *     continuing  -- refused, failed, broken off, or the model refused -->           open
 *     open        -- five minutes since its last request -->                         absent; so is a continued one
 *     any         -- used longest ago, where there are too many -->                  absent
 *
 * A continued one is kept to say so, without its conversation. Every request that names a reply is one of it, whatever
 * becomes of it.
 */
export class Threads {
  readonly #entryByReply: Recent<string, Entry>;
  readonly #now: () => Millis;
  readonly #charsMax: number;
  #chars = 0;

  constructor(now: () => Millis, limits: ThreadLimits = { threadsMax, charsMax: threadCharsMax }) {
    this.#now = now;
    this.#entryByReply = new Recent(limits.threadsMax);
    this.#charsMax = limits.charsMax;
  }

  /** The whole request, and the thread is this request's until it is settled. Nothing to do where none is named. */
  open(call: ThreadCall): Opened {
    const found = this.#find(call);
    if (found.kind === "refused" || found.kind === "none") return found.kind === "none" ? whole(call.body) : found;
    const { body, entry } = found;
    if (entry !== undefined) entry.state = "continuing";
    const turn = { workspace: call.workspace, body, entry };
    let isSettled = false;
    return {
      ...whole(body),
      turn: {
        settle: (reply) => {
          if (!isSettled) this.#settle(turn, reply);
          isSettled = true;
        },
      },
    };
  }

  /** The body that `open` would give; of the thread only its time begins anew. */
  preview(call: ThreadCall & { readonly body: JsonObject }): JsonObject {
    const found = this.#find(call);
    return found.kind === "found" ? found.body : call.body;
  }

  #find(call: ThreadCall): Found | { readonly kind: "none" } | Refusal {
    const { body, workspace, betas } = call;
    if (!isObject(body) || !isSent(body, "thread")) return { kind: "none" };
    if (!betas.has(threadsBeta)) return invalid("Extra inputs are not permitted", "thread");
    const thread = threadParam.safeParse(field(body, "thread"));
    // What is wrong with it is told with the rest of the request's shape.
    if (!thread.success) return { kind: "none" };
    const unsupported = unsupportedIn(body);
    if (unsupported.length > 0) return unsupportedRequest(unsupported);
    if (thread.data.type === "create") return { kind: "found", body, entry: undefined };
    return this.#continued(keyOf(workspace, thread.data.previous_message_id), {
      body,
      id: thread.data.previous_message_id,
    });
  }

  #continued(key: string, { body, id }: { readonly body: JsonObject; readonly id: string }): Found | Refusal {
    const entry = this.#entryByReply.get(key);
    if (entry === undefined) return threadNotFound(id);
    if (entry.state !== "continuing" && this.#now() >= entry.usedAt + threadMillisMax) {
      this.#let(this.#entryByReply.take(key));
      return threadNotFound(id);
    }
    entry.usedAt = this.#now();
    if (entry.state === "continuing") return continueInFlight(id);
    const { held } = entry;
    if (held === undefined) return alreadyContinued(id);
    const fields = mismatches(held, body);
    if (fields.length > 0) return fingerprintMismatch(fields);
    const repeated = createOnlyFields.find((name) => isSent(body, name));
    return repeated === undefined ? { kind: "found", body: wholeBody(held, body), entry } : heldByThread(repeated);
  }

  #settle({ workspace, body, entry }: Turn, reply: ReplyMessage | undefined): void {
    const usedAt = this.#now();
    const before = entry?.held;
    const isAnswered = reply !== undefined && reply.stop_reason !== "refusal";
    if (entry !== undefined) {
      entry.usedAt = usedAt;
      entry.state = isAnswered ? "continued" : "open";
      if (isAnswered) this.#let(entry);
    }
    if (!isAnswered) return;
    const held = heldBehind({ body, reply, before });
    this.#chars += held.chars;
    this.#let(this.#entryByReply.set(keyOf(workspace, reply.id), { state: "open", held, usedAt }));
    while (this.#chars > this.#charsMax && this.#entryByReply.oldest !== undefined)
      this.#let(this.#entryByReply.take(this.#entryByReply.oldest));
  }

  /** Its conversation is no longer held there. */
  #let(entry: Entry | undefined): void {
    if (entry === undefined) return;
    this.#chars -= entry.held?.chars ?? 0;
    entry.held = undefined;
  }
}

interface Entry {
  state: "open" | "continuing" | "continued";
  /** Undefined once it is continued or forgotten. */
  held: Held | undefined;
  usedAt: Millis;
}

interface Found {
  readonly kind: "found";
  readonly body: JsonObject;
  readonly entry: Entry | undefined;
}

interface Turn {
  readonly workspace: string;
  readonly body: JsonObject;
  readonly entry: Entry | undefined;
}

const threadsBeta = "message-threads-2026-08-12";

const whole = (body: Json) => ({ kind: "whole", body }) as const;

const keyOf = (workspace: string, messageId: string): string => `${workspace} ${messageId}`;

/** The top-level field marks whatever comes last; markers on blocks are taken. Thinking that is off is none. */
function unsupportedIn(body: JsonObject): readonly UnsupportedFeature[] {
  const thinking = field(body, "thinking");
  const thinks = isObject(thinking) && field(thinking, "type") !== "disabled";
  return [
    ...(isSent(body, "cache_control") ? (["cache_control"] as const) : []),
    ...(isSent(body, "context_management") ? (["context_management"] as const) : []),
    ...(thinks ? (["thinking"] as const) : []),
  ];
}
