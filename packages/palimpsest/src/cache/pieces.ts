import type { Message, TextBlock } from "../schema/block.ts";
import { field, isObject, type Json, type JsonObject, parseJson } from "../schema/json.ts";
import { wellFormedJson } from "../schema/well-formed-json.ts";
import type { CacheControl } from "../schema/wire/cache-control.ts";
import type { ToolDefinition } from "../tokens/fixed-part.ts";
import { wireModel } from "../tokens/wire-model.ts";
import type { Breakpoint } from "./breakpoints.ts";
import { JoinedMessages } from "./joined-messages.ts";
import type { Lifetime } from "./lifetime.ts";

export interface RequestParts {
  readonly model: string;
  readonly maxTokens: number;
  readonly tools: readonly ToolDefinition[];
  readonly system: readonly TextBlock[];
  /** Values, as a view has them: a message that changes is another object. The list itself may be live. */
  readonly messages: readonly Message[];
  readonly breakpoints: readonly Breakpoint[];
  readonly thinking?: JsonObject | undefined;
  /** Other fields of the body (`stream`, `tool_choice`…); sent in the order of their names. */
  readonly params?: JsonObject | undefined;
}

/**
 * A request as bytes or as a value, from remembered pieces. Tools, system blocks and content blocks are values: each object is
 * serialised once, and a marker is put into its bytes without serialising it again. The bytes stay as long as their
 * block does. A request costs serialising what is new, a comparison of identities for every block, and a copy of the bytes.
 *
 * Fields stand in the order in which they are cached, `model`, `tools`, `system`, `messages`, and then whatever may
 * differ from request to request: without markers, a request is the beginning of the next as far as its blocks go.
 */
export class RequestPieces {
  readonly #pieceByValue = new WeakMap<object, Uint8Array>();
  readonly #sendableByValue = new WeakMap<object, JsonObject>();
  readonly #messages = new JoinedMessages((block) => this.#piece(block));
  /** Values that had to be serialised. */
  serialised = 0;

  bytes(parts: RequestParts): Uint8Array<ArrayBuffer> {
    const { model, messages, breakpoints } = parts;
    const insertions = breakpoints.flatMap(({ place, lifetime }) =>
      place.part === "messages" ? [{ place, bytes: insertedMarker(lifetime) }] : [],
    );
    return joined([
      encoded(`{"model":${wellFormedJson(wireModel(model).id)}`),
      ...this.#list("tools", parts),
      ...this.#list("system", parts),
      encoded(',"messages":['),
      ...this.#messages.join(messages, insertions),
      encoded(`]${tailOf(parts)}}`),
    ]);
  }

  /** What the bytes say, for who encodes it himself. Costs a copy of the lists, and a look at each block once. */
  values(parts: RequestParts): JsonObject {
    const { model, tools, system, messages } = parts;
    return {
      model: wireModel(model).id,
      ...(tools.length === 0 ? {} : { tools: this.#markedList("tools", parts) }),
      ...(system.length === 0 ? {} : { system: this.#markedList("system", parts) }),
      messages: this.#markedMessages(messages, parts.breakpoints),
      ...Object.fromEntries(tailFields(parts)),
    };
  }

  #markedList(name: "tools" | "system", { breakpoints, ...parts }: RequestParts): readonly JsonObject[] {
    return parts[name].map((value, at) => {
      const marked = breakpoints.find(({ place }) => place.part === name && place.at === at);
      return this.#sendable(value, marked?.lifetime);
    });
  }

  #markedMessages(messages: readonly Message[], breakpoints: readonly Breakpoint[]): readonly JsonObject[] {
    return messages.map(({ role, content }, at) => ({
      role,
      content: content.map((block, blockAt) => {
        const marked = breakpoints.find(
          ({ place }) => place.part === "messages" && place.message === at && place.at === blockAt,
        );
        return this.#sendable(block, marked?.lifetime);
      }),
    }));
  }

  /** The value itself where it can be encoded as it is. */
  #sendable(value: object, lifetime: Lifetime | undefined): JsonObject {
    let sendable = this.#sendableByValue.get(value);
    if (sendable === undefined) {
      sendable = wellFormed(unmarked(value));
      this.#sendableByValue.set(value, sendable);
    }
    return lifetime === undefined ? sendable : { ...sendable, cache_control: markerOf(lifetime) };
  }

  /** Without the field where there is nothing in it. */
  #list(name: "tools" | "system", parts: RequestParts): readonly Uint8Array[] {
    const values = parts[name];
    const marked = parts.breakpoints.filter(({ place }) => place.part === name);
    for (const { place } of marked)
      if (values[place.at] === undefined) throw new Error(`no block for the breakpoint at ${JSON.stringify(place)}`);
    if (values.length === 0) return [];
    const pieces = values.flatMap((value, at) => {
      const lifetime = marked.find(({ place }) => place.at === at)?.lifetime;
      const piece = this.#piece(value);
      const whole = lifetime === undefined ? [piece] : [piece.subarray(0, -1), insertedMarker(lifetime), brace];
      return at === 0 ? whole : [comma, ...whole];
    });
    return [encoded(`,"${name}":[`), ...pieces, listEnd];
  }

  #piece(value: object): Uint8Array {
    const known = this.#pieceByValue.get(value);
    if (known !== undefined) return known;
    const piece = encoded(wellFormedJson(unmarked(value)));
    this.serialised += 1;
    this.#pieceByValue.set(value, piece);
    return piece;
  }
}

export const markerOf = (lifetime: Lifetime): CacheControl & JsonObject =>
  lifetime === "5m" ? { type: "ephemeral" } : { type: "ephemeral", ttl: lifetime };

/** An object's bytes end in its brace, and none of ours is empty: the marker goes in before it, as its last field. */
const insertedMarker = (lifetime: Lifetime): Uint8Array =>
  encoded(`,"cache_control":${JSON.stringify(markerOf(lifetime))}`);

/** The very value where nothing in it has to be replaced. */
function wellFormed(value: object): JsonObject {
  if (isWellFormed(value)) return value;
  const parsed = parseJson(wellFormedJson(value));
  if (!isObject(parsed)) throw new TypeError("a part of a request is no object");
  return parsed;
}

/** Tools and blocks are JSON: they came as such, or are written as such. */
const isWellFormed = (value: object): value is JsonObject => wellFormedJson(value) === JSON.stringify(value);

/** A marker that somebody else set would stand there twice. */
function unmarked(value: object): object {
  if (!("cache_control" in value)) return value;
  const { cache_control: _, ...rest } = value;
  return rest;
}

const tailOf = (parts: RequestParts): string =>
  tailFields(parts)
    .map(([name, value]) => `,${wellFormedJson(name)}:${wellFormedJson(value)}`)
    .join("");

/** In the order in which they are sent. */
function tailFields({ maxTokens, thinking, params = {} }: RequestParts): readonly (readonly [string, Json])[] {
  const fields: [string, Json][] = [["max_tokens", maxTokens]];
  if (thinking !== undefined) fields.push(["thinking", thinking]);
  for (const name of Object.keys(params).toSorted()) {
    if (ownFields.has(name)) throw new Error(`${name} is no parameter: it has a part of its own`);
    const value = field(params, name);
    if (value !== undefined) fields.push([name, value]);
  }
  return fields;
}

const ownFields: ReadonlySet<string> = new Set(["model", "max_tokens", "tools", "system", "messages", "thinking"]);

/** One copy, once the length is known. */
function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

const encoder = new TextEncoder();
const encoded = (text: string): Uint8Array => encoder.encode(text);
const comma = encoded(",");
const brace = encoded("}");
const listEnd = encoded("]");
