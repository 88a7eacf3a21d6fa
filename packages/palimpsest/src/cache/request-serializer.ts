import type { Message, TextBlock, Block } from "../schema/block.ts";
import { field, isObject, type Json, type JsonObject, parseJson, wellFormedJson } from "../schema/json.ts";
import type { CacheControl } from "../schema/wire/cache-control.ts";
import type { ToolDefinition } from "../tokens/fixed-part.ts";
import { wireModel } from "../tokens/known-models.ts";
import type { Breakpoint, MessagePlace } from "./breakpoint.ts";
import type { Lifetime } from "./lifetime.ts";
import { joinedBytesMin } from "./limits.ts";

export interface RequestParts {
  readonly model: string;
  readonly maxTokens: number;
  readonly tools: readonly ToolDefinition[];
  readonly system: readonly TextBlock[];
  /** Values, as in a view: a message that changes is another object. The list itself may be live. */
  readonly messages: readonly Message[];
  readonly breakpoints: readonly Breakpoint[];
  readonly thinking?: JsonObject | undefined;
  /** Other fields of the body (`stream`, `tool_choice`…); sent in the order of their names. */
  readonly params?: JsonObject | undefined;
}

/**
 * Builds a request as bytes or as a value, from remembered pieces. Tools, system blocks and content blocks are values:
 * each object is serialised once, and a marker is put into its bytes without serialising it again. The bytes are kept
 * as long as their block. A request costs serialising what is new, a comparison of identities for every block, and a
 * copy of the bytes.
 *
 * Fields stand in the order in which they are cached: `model`, `tools`, `system`, `messages`, and then whatever may
 * differ from request to request. So, without markers, the blocks of a request are a prefix of the next request.
 */
export class RequestSerializer {
  readonly #pieceByValue = new WeakMap<object, Uint8Array>();
  readonly #sendableByValue = new WeakMap<object, JsonObject>();
  readonly #messages = new MessageBuffer((block) => this.#piece(block));
  #last: { readonly messages: readonly Message[]; readonly values: readonly JsonObject[] } = {
    messages: [],
    values: [],
  };
  /** Counts the values that had to be serialised. */
  serialised = 0;

  bytes(parts: RequestParts): Uint8Array<ArrayBuffer> {
    const { model, messages, breakpoints } = parts;
    const insertions = breakpoints.flatMap(({ place, lifetime }) =>
      place.part === "messages" ? [{ place, bytes: encodeMarker(lifetime) }] : [],
    );
    return concatBytes([
      encodeText(`{"model":${wellFormedJson(wireModel(model).id)}`),
      ...this.#list("tools", parts),
      ...this.#list("system", parts),
      encodeText(',"messages":['),
      ...this.#messages.join(messages, insertions),
      encodeText(`]${encodeTail(parts)}}`),
    ]);
  }

  /**
   * The request as a value, for callers that encode it themselves. Costs a copy of the list of messages and what is
   * new. Messages without a marker are the same objects in every request.
   */
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
    const values = [...this.#sendableMessages(messages)];
    const places = breakpoints.flatMap(({ place }) => (place.part === "messages" ? [place.message] : []));
    for (const at of new Set(places)) {
      const message = messages[at];
      const marks = breakpoints.filter(({ place }) => place.part === "messages" && place.message === at);
      if (message !== undefined) values[at] = this.#markedMessage(message, marks);
    }
    return values;
  }

  #markedMessage({ role, content }: Message, marks: readonly Breakpoint[]): JsonObject {
    const lifetimeAt = (at: number): Lifetime | undefined => marks.find(({ place }) => place.at === at)?.lifetime;
    return { role, content: content.map((block, at) => this.#sendable(block, lifetimeAt(at))) };
  }

  /** Most messages are those of the previous request. */
  #sendableMessages(messages: readonly Message[]): readonly JsonObject[] {
    const { messages: before, values } = this.#last;
    let same = 0;
    while (same < before.length && before[same] === messages[same]) same += 1;
    const added = messages.slice(same).map((message) => this.#markedMessage(message, []));
    this.#last = { messages: [...messages], values: [...values.slice(0, same), ...added] };
    return this.#last.values;
  }

  /** Returns the value itself if it can be encoded as it is. */
  #sendable(value: object, lifetime: Lifetime | undefined): JsonObject {
    let sendable = this.#sendableByValue.get(value);
    if (sendable === undefined) {
      sendable = wellFormed(withoutMarker(value));
      this.#sendableByValue.set(value, sendable);
    }
    return lifetime === undefined ? sendable : { ...sendable, cache_control: cacheControlFor(lifetime) };
  }

  /** Leaves out the field if it would be empty. */
  #list(name: "tools" | "system", parts: RequestParts): readonly Uint8Array[] {
    const values = parts[name];
    const marked = parts.breakpoints.filter(({ place }) => place.part === name);
    for (const { place } of marked)
      if (values[place.at] === undefined) throw new Error(`no block for the breakpoint at ${JSON.stringify(place)}`);
    if (values.length === 0) return [];
    const pieces = values.flatMap((value, at) => {
      const lifetime = marked.find(({ place }) => place.at === at)?.lifetime;
      const piece = this.#piece(value);
      const bytes = lifetime === undefined ? [piece] : [piece.subarray(0, -1), encodeMarker(lifetime), brace];
      return at === 0 ? bytes : [comma, ...bytes];
    });
    return [encodeText(`,"${name}":[`), ...pieces, listEnd];
  }

  #piece(value: object): Uint8Array {
    const known = this.#pieceByValue.get(value);
    if (known !== undefined) return known;
    const piece = encodeText(wellFormedJson(withoutMarker(value)));
    this.serialised += 1;
    this.#pieceByValue.set(value, piece);
    return piece;
  }
}

export const cacheControlFor = (lifetime: Lifetime): CacheControl & JsonObject =>
  lifetime === "5m" ? { type: "ephemeral" } : { type: "ephemeral", ttl: lifetime };

/**
 * An object's bytes end with its brace, and none of our objects is empty: the marker goes in before the brace, as the
 * last field.
 */
const encodeMarker = (lifetime: Lifetime): Uint8Array =>
  encodeText(`,"cache_control":${JSON.stringify(cacheControlFor(lifetime))}`);

/** Returns the same object if nothing in it has to be replaced. */
function wellFormed(value: object): JsonObject {
  if (isWellFormed(value)) return value;
  const parsed = parseJson(wellFormedJson(value));
  if (!isObject(parsed)) throw new TypeError("a part of a request is no object");
  return parsed;
}

/** Tools and blocks are JSON: they were parsed from it or are written for it. */
const isWellFormed = (value: object): value is JsonObject => wellFormedJson(value) === JSON.stringify(value);

/** Removes a foreign marker, which would otherwise stand there twice. */
function withoutMarker(value: object): object {
  if (!("cache_control" in value)) return value;
  const { cache_control: _, ...rest } = value;
  return rest;
}

const encodeTail = (parts: RequestParts): string =>
  tailFields(parts)
    .map(([name, value]) => `,${wellFormedJson(name)}:${wellFormedJson(value)}`)
    .join("");

/** In the order in which they are sent. */
function tailFields({ maxTokens, thinking, params = {} }: RequestParts): readonly (readonly [string, Json])[] {
  const fields: [string, Json][] = [["max_tokens", maxTokens]];
  if (thinking !== undefined) fields.push(["thinking", thinking]);
  for (const name of Object.keys(params).toSorted()) {
    if (namedFields.has(name)) throw new Error(`${name} is no parameter: it has a part of its own`);
    const value = field(params, name);
    if (value !== undefined) fields.push([name, value]);
  }
  return fields;
}

const namedFields: ReadonlySet<string> = new Set(["model", "max_tokens", "tools", "system", "messages", "thinking"]);

/** Copies once, since the length is known. */
function concatBytes(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

const encoder = new TextEncoder();
const encodeText = (text: string): Uint8Array => encoder.encode(text);
const comma = encodeText(",");
const brace = encodeText("}");
const listEnd = encodeText("]");

/** Bytes to put into the block at this place, before its closing brace. */
interface Insertion {
  readonly place: MessagePlace;
  readonly bytes: Uint8Array;
}

/**
 * The messages of the last request as bytes, without markers. The next request mostly continues them: what is the same
 * stays where it is, for the price of comparing identities (messages and blocks are values), and only what stands
 * behind the first difference is built again.
 */
class MessageBuffer {
  readonly #serialise: (block: Block) => Uint8Array;
  readonly #messages: Message[] = [];
  /** Index of each message's first block. */
  readonly #firsts: number[] = [];
  /** Where the bytes of each block end. */
  readonly #ends: number[] = [];
  #buffer = new Uint8Array(joinedBytesMin);

  constructor(serialise: (block: Block) => Uint8Array) {
    this.#serialise = serialise;
  }

  /** The elements of `messages`, in parts that are valid until the next call. */
  join(messages: readonly Message[], insertions: readonly Insertion[]): readonly Uint8Array[] {
    let same = 0;
    while (same < this.#messages.length && this.#messages[same] === messages[same]) same += 1;
    this.#cutTo(same);
    for (const message of messages.slice(same)) this.#add(message);
    return [...this.#parts(insertions), ...(messages.length === 0 ? [] : [messageEnd])];
  }

  #add(message: Message): void {
    const { role, content } = message;
    if (content.length === 0) throw new Error("a message without a block");
    let glue = this.#messages.length === 0 ? firstOpening[role] : nextOpening[role];
    this.#messages.push(message);
    this.#firsts.push(this.#ends.length);
    for (const block of content) {
      this.#put(glue, this.#serialise(block));
      glue = blockSeparator;
    }
  }

  #parts(insertions: readonly Insertion[]): readonly Uint8Array[] {
    const parts: Uint8Array[] = [];
    let from = 0;
    for (const { at, bytes } of insertions
      .map((insertion) => this.#locate(insertion))
      .toSorted((left, right) => left.at - right.at)) {
      parts.push(this.#buffer.subarray(from, at), bytes);
      from = at;
    }
    return [...parts, this.#buffer.subarray(from, this.#ends.at(-1) ?? 0)];
  }

  #locate({ place, bytes }: Insertion): { readonly at: number; readonly bytes: Uint8Array } {
    const first = this.#firsts[place.message];
    const end = first === undefined ? undefined : this.#ends[first + place.at];
    if (end === undefined || this.#messages[place.message]?.content[place.at] === undefined)
      throw new Error(`no block for the breakpoint at ${JSON.stringify(place)}`);
    return { at: end - 1, bytes };
  }

  #put(glue: Uint8Array, piece: Uint8Array): void {
    const start = this.#ends.at(-1) ?? 0;
    const end = start + glue.length + piece.length;
    if (end > this.#buffer.length) this.#grow(end);
    this.#buffer.set(glue, start);
    this.#buffer.set(piece, start + glue.length);
    this.#ends.push(end);
  }

  /** Doubles the size, so that a growing conversation is not copied again and again. */
  #grow(bytesMin: number): void {
    const larger = new Uint8Array(Math.max(bytesMin, 2 * this.#buffer.length));
    larger.set(this.#buffer.subarray(0, this.#ends.at(-1) ?? 0));
    this.#buffer = larger;
  }

  #cutTo(messages: number): void {
    this.#ends.length = this.#firsts[messages] ?? this.#ends.length;
    this.#messages.length = messages;
    this.#firsts.length = messages;
  }
}

const opening = { user: '{"role":"user","content":[', assistant: '{"role":"assistant","content":[' } as const;
const blockSeparator = encodeText(",");
const messageEnd = encodeText("]}");
const firstOpening = {
  user: encodeText(opening.user),
  assistant: encodeText(opening.assistant),
} as const;
/** Closes the message before. */
const nextOpening = {
  user: encodeText(`]},${opening.user}`),
  assistant: encodeText(`]},${opening.assistant}`),
} as const;
