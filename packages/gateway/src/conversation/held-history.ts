import { LruMap } from "palimpsest/internal/cache/lru-map";
import {
  field,
  isArray,
  isObject,
  type Json,
  type JsonObject,
  textField,
  tryParseJson,
} from "palimpsest/internal/schema/json";
import type { BodyElement } from "../body/body-element.ts";
import { RequestBody } from "../body/request-body.ts";
import { type FieldChanges, writeBody } from "../body/write-body.ts";
import type { ReadReply } from "../reply/reply-reader.ts";
import type { HeldLog, HeldTurn } from "./held-log.ts";
import { heldBytesMax, heldRepliesMax, joinedRepliesMax } from "./limits.ts";

/** A request of a client that may send only what is new. */
export interface HeldRequest {
  /** Nobody goes on from another user's reply. */
  readonly user: string;
  readonly bytes: Uint8Array;
}

export type HeldOutcome =
  /** The client keeps the list itself: nothing is held of it. */
  | { readonly kind: "whole" }
  /** The whole list. `settle` is told of the reply before the client has all of it, and resolves when it is held. */
  | { readonly kind: "held"; readonly bytes: Uint8Array; readonly settle: (reply: ReadReply) => Promise<void> }
  /** Only the upstream has the list. */
  | { readonly kind: "elsewhere"; readonly bytes: Uint8Array }
  /** The client sends the whole list if it is told so. */
  | { readonly kind: "not-found"; readonly id: string };

/**
 * Histories of clients that send only what is new, by the replies that they go on from. A history is a list of messages;
 * each reply is a place in it. A client may go on from any place: behind an earlier one, it becomes a history of its own
 * that shares the messages before. What is held is as the client has it, without the calls of the gateway's tools: these
 * are the context's.
 *
 * They are in memory, and in a log from which they are restored after a restart.
 */
export class HeldHistories {
  readonly #placeByReply = new Map<string, Place>();
  /** The one that was used last is last. */
  readonly #histories = new Set<History>();
  readonly #joined = new LruMap<string, string>(joinedRepliesMax);
  readonly #limits: { readonly bytesMax: number; readonly repliesMax: number };
  readonly #log: HeldLog | undefined;
  readonly #restoredByUser = new Map<string, Promise<void>>();
  #bytes = 0;

  /** Without a log they are lost at a restart. */
  constructor(log?: HeldLog, limits = { bytesMax: heldBytesMax, repliesMax: heldRepliesMax }) {
    this.#log = log;
    this.#limits = limits;
  }

  /** Reads what an earlier run of the gateway held for this user, once: for an id that is not known. */
  restore(user: string): Promise<void> {
    const restored = this.#restoredByUser.get(user) ?? this.#restore(user);
    this.#restoredByUser.set(user, restored);
    return restored;
  }

  /** A request of the Messages API that has a `thread`. What it does not repeat is what the thread was begun with. */
  openThread({ user, bytes }: HeldRequest): HeldOutcome {
    const body = RequestBody.read(bytes, { list: "messages" });
    const thread = body?.field("thread");
    if (body === undefined || !isObject(thread)) return { kind: "whole" };
    const previous = textField(thread, "previous_message_id");
    const place = previous === undefined ? undefined : this.#find(user, previous);
    if (previous !== undefined && place === undefined) return { kind: "not-found", id: previous };
    const held: JsonObject = { ...place?.fields, ...fieldsOf(body, threadFields) };
    const added = body.elements.map((element) => withoutMarks(element));
    return {
      kind: "held",
      bytes: writeWhole(body, { place, fields: { thread: undefined, ...held } }),
      settle: (reply) => this.#hold(user, { from: previous, place, added, fields: held, reply }),
    };
  }

  /** A request of the Responses API. */
  openResponse({ user, bytes }: HeldRequest): HeldOutcome {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (!buffer.includes(previousName) && !buffer.includes(conversationName)) return this.#openRoot(user, buffer);
    const body = RequestBody.read(buffer, { list: "input" });
    const isKept = (body?.field("conversation") ?? null) !== null;
    const previous = body?.field("previous_response_id") ?? null;
    if (body === undefined || isKept || typeof previous !== "string") {
      const isElsewhere = body === undefined || isKept;
      return isElsewhere ? { kind: "elsewhere", bytes } : this.#openRoot(user, buffer);
    }
    const place = this.#find(user, previous);
    if (place === undefined) return { kind: "elsewhere", bytes: this.#nameLast(user, { body, previous }) };
    const added = body.elements.map((element) => Buffer.from(element.bytes));
    const isStored = body.field("store") !== false;
    return {
      kind: "held",
      bytes: writeWhole(body, { place, fields: { previous_response_id: undefined } }),
      settle: async (reply) => {
        if (isStored) await this.#hold(user, { from: previous, place, added, fields: {}, reply });
      },
    };
  }

  /** A request about a response that only the upstream can answer, such as its compaction. */
  nameResponse({ user, bytes }: HeldRequest): Uint8Array {
    if (this.#joined.size === 0) return bytes;
    const body = tryParseJson(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8"));
    const previous = isObject(body) ? textField(body, "previous_response_id") : undefined;
    const last = previous === undefined ? undefined : this.#joined.get(replyKey(user, previous));
    return isObject(body) && last !== undefined ? encode({ ...body, previous_response_id: last }) : bytes;
  }

  /** The client knows a reply that was made of several by the first one's id; the upstream goes on from the last one. */
  linkReplies(user: string, { first, last }: { readonly first: string; readonly last: string }): void {
    this.#joined.set(replyKey(user, first), last);
    // The line of the reply itself comes behind it, and the client waits for that one.
    void this.#log?.append(user, { first, last });
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** A list that has no beginning elsewhere. It is read only if the client goes on from its reply. */
  #openRoot(user: string, bytes: Buffer): HeldOutcome {
    if ([...notStored, ...keepsList].some((text) => bytes.includes(text))) return { kind: "whole" };
    return {
      kind: "held",
      bytes,
      settle: (reply) => this.#hold(user, { from: undefined, place: undefined, added: bytes, fields: {}, reply }),
    };
  }

  #nameLast(user: string, { body, previous }: { readonly body: RequestBody; readonly previous: string }): Uint8Array {
    const last = this.#joined.get(replyKey(user, previous));
    return last === undefined ? body.bytes : join(writeBody(body, { fields: { previous_response_id: last } }));
  }

  #find(user: string, id: string): Place | undefined {
    const place = this.#placeByReply.get(replyKey(user, id));
    if (place === undefined) return undefined;
    this.#histories.delete(place.history);
    this.#histories.add(place.history);
    return place;
  }

  async #hold(
    user: string,
    turn: {
      readonly from: string | undefined;
      readonly place: Place | undefined;
      readonly added: Piece;
      readonly fields: JsonObject;
      readonly reply: ReadReply;
    },
  ): Promise<void> {
    const { id, kind } = turn.reply;
    const said = turn.reply.elements.map(encode);
    const { from, place, added } = kind === "compacted" ? { from: undefined, place: undefined, added: [] } : turn;
    this.#put(user, { id, place, added, said, fields: turn.fields });
    const fields = changedFields(turn.fields, place?.fields ?? {});
    await this.#log?.append(user, {
      id,
      ...(from === undefined ? {} : { from }),
      ...(Object.keys(fields).length === 0 ? {} : { fields }),
      added: Buffer.isBuffer(added) ? decode(added) : added.map(decode),
      said: said.map(decode),
    });
  }

  #put(
    user: string,
    turn: {
      readonly id: string;
      readonly place: Place | undefined;
      readonly added: Piece;
      readonly said: readonly Buffer[];
      readonly fields: JsonObject;
    },
  ): void {
    const { place, added, said, fields } = turn;
    const { history, length } = this.#extend(place);
    history.pieces.push(added, said);
    const bytes = history.pieces.slice(length).reduce((sum, piece) => sum + countBytes(piece), 0);
    const key = replyKey(user, turn.id);
    history.bytes += bytes;
    this.#bytes += bytes;
    history.keys.add(key);
    this.#placeByReply.set(key, { history, length: history.pieces.length, fields });
    this.#histories.delete(history);
    this.#histories.add(history);
    this.#dropOldest();
  }

  async #restore(user: string): Promise<void> {
    for (const line of (await this.#log?.read(user)) ?? [])
      if ("id" in line) this.#restoreTurn(user, line);
      else this.#joined.set(replyKey(user, line.first), line.last);
  }

  /** Not if it is held already, or if what it goes on from is not. */
  #restoreTurn(user: string, { id, from, fields, added, said }: HeldTurn): void {
    const place = from === undefined ? undefined : this.#placeByReply.get(replyKey(user, from));
    const isMissing = from !== undefined && place === undefined;
    if (isMissing || this.#placeByReply.has(replyKey(user, id))) return;
    this.#put(user, {
      id,
      place,
      added: typeof added === "string" ? Buffer.from(added) : added.map((element) => Buffer.from(element)),
      said: said.map((element) => Buffer.from(element)),
      fields: { ...place?.fields, ...fields },
    });
  }

  /** The history that goes on behind a place. */
  #extend(place: Place | undefined): { readonly history: History; readonly length: number } {
    const length = place?.length ?? 0;
    if (place !== undefined && place.history.pieces.length === length && this.#histories.has(place.history))
      return { history: place.history, length };
    const pieces = place?.history.pieces.slice(0, length) ?? [];
    const bytes = pieces.reduce((sum, piece) => sum + countBytes(piece), 0);
    this.#bytes += bytes;
    return { history: { pieces, bytes, keys: new Set() }, length };
  }

  /** The newest one stays, whatever its size: its client is about to go on. */
  #dropOldest(): void {
    const { bytesMax, repliesMax } = this.#limits;
    while ((this.#bytes > bytesMax || this.#placeByReply.size > repliesMax) && this.#histories.size > 1) {
      const [oldest] = this.#histories;
      if (oldest === undefined) return;
      this.#histories.delete(oldest);
      this.#bytes -= oldest.bytes;
      for (const key of oldest.keys) this.#placeByReply.delete(key);
    }
  }
}

/** Elements of the list, or a whole body whose elements have not been read. */
type Piece = Buffer | readonly Buffer[];

interface History {
  readonly pieces: Piece[];
  readonly keys: Set<string>;
  bytes: number;
}

/** A reply, as what comes behind it goes on from. */
interface Place {
  readonly history: History;
  /** Pieces up to and with the reply. */
  readonly length: number;
  /** Fields that are not sent again. */
  readonly fields: JsonObject;
}

/** Those that have another value than before. */
const changedFields = (fields: JsonObject, before: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name])),
  );

const threadFields = ["system", "tools"] as const;

/** An empty list does not count as sent. */
function fieldsOf(body: RequestBody, names: readonly string[]): JsonObject {
  return Object.fromEntries(
    names.flatMap((name): readonly (readonly [string, Json])[] => {
      const value = body.field(name) ?? null;
      return value === null || (Array.isArray(value) && value.length === 0) ? [] : [[name, value]];
    }),
  );
}

function writeWhole(
  body: RequestBody,
  { place, fields }: { readonly place: Place | undefined; readonly fields: FieldChanges },
): Buffer {
  // A field that the body has is not written again: its bytes stay the client's own.
  const missing = Object.entries(fields).filter(([name, value]) => value === undefined || !hasField(body, name));
  const list = place === undefined ? undefined : [...readPieces(place), ...body.elements];
  return join(writeBody(body, { fields: Object.fromEntries(missing), ...(list === undefined ? {} : { list }) }));
}

const hasField = (body: RequestBody, name: string): boolean => Object.keys(fieldsOf(body, [name])).length > 0;

function readPieces({ history, length }: Place): readonly Buffer[] {
  const elements: Buffer[] = [];
  for (const [at, piece] of history.pieces.slice(0, length).entries()) {
    const read = Buffer.isBuffer(piece) ? readElements(piece) : piece;
    history.pieces[at] = read;
    elements.push(...read);
  }
  return elements;
}

const readElements = (bytes: Buffer): readonly Buffer[] =>
  RequestBody.read(bytes, { list: "input" })?.elements.map((element) => element.bytes) ?? [];

const countBytes = (piece: Piece): number =>
  Buffer.isBuffer(piece) ? piece.byteLength : piece.reduce((sum, element) => sum + element.byteLength, 0);

const encode = (value: JsonObject): Buffer => Buffer.from(JSON.stringify(value));

const decode = (bytes: Buffer): string => bytes.toString("utf8");

const join = (pieces: readonly Uint8Array[]): Buffer => Buffer.concat(pieces);

const replyKey = (user: string, id: string): string => JSON.stringify([user, id]);

const previousName = '"previous_response_id"';
const conversationName = '"conversation"';

/** A client that sends back what the model said keeps the list itself. Within a text the quotes are escaped. */
const keepsList = ['"assistant"', '"function_call_output"', '"output_text"'];

/** Nobody can go on from a response that is not stored. */
const notStored = ['"store":false', '"store": false'];

/**
 * A mark for the cache belongs to the request that brought it: all of them together would be more than one request may
 * have.
 */
function withoutMarks({ bytes, value }: BodyElement): Buffer {
  return bytes.includes('"cache_control"') ? encode(stripObject(value)) : Buffer.from(bytes);
}

/** Where a message may hold marked values. The input of a call belongs to the caller. */
const markHolders = ["content", "source", "tool", "definition", "tool_references"] as const;

function stripObject({ cache_control: _mark, ...rest }: JsonObject): JsonObject {
  const held = markHolders.flatMap((name): readonly (readonly [string, Json])[] => {
    const inner = field(rest, name);
    return inner === undefined ? [] : [[name, stripMarks(inner)]];
  });
  return { ...rest, ...Object.fromEntries(held) };
}

const stripMarks = (value: Json): Json =>
  isArray(value) ? value.map(stripMarks) : isObject(value) ? stripObject(value) : value;
