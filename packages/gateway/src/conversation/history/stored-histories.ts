import { LruMap } from "palimpsest/internal/cache/lru-map";
import { isObject, type JsonObject, textField, tryParseJson } from "palimpsest/internal/schema/json";
import { RequestBody } from "../../body/request-body.ts";
import { writeBody } from "../../body/write-body.ts";
import type { ReadReply } from "../../reply/reply-reader.ts";
import type { DeletedSessions, HistoryLog, StoredTurn } from "./history-log.ts";
import {
  changedFields,
  countPieces,
  decode,
  encode,
  pickFields,
  type History,
  join,
  type Piece,
  type HistoryPoint,
  withoutMarks,
  writeWhole,
} from "./history-pieces.ts";
import {
  storedBytesMax,
  storedHistoryBytesMax,
  storedRepliesMax,
  storedUserBytesMax,
  storedUserRepliesMax,
  joinedRepliesMax,
} from "../limits.ts";

/** A request of a client that may send only what is new. */
export interface HistoryRequest {
  /** Nobody goes on from another user's reply. */
  readonly user: string;
  readonly bytes: Uint8Array;
}

export type HistoryOutcome =
  /** The client keeps the list itself: nothing is stored of it. */
  | { readonly kind: "whole" }
  /** The whole list. `settle` is told of the reply before the client has all of it, and resolves when it is stored. */
  | { readonly kind: "stored"; readonly bytes: Uint8Array; readonly settle: SettleReply }
  /** Only the upstream has the list. */
  | { readonly kind: "elsewhere"; readonly bytes: Uint8Array }
  /** The client sends the whole list if it is told so. */
  | { readonly kind: "not-found"; readonly id: string };

/** `session`: of the conversation that the request belongs to, if it has one. */
export type SettleReply = (reply: ReadReply, session?: string) => Promise<void>;

export interface HistoryLimits {
  readonly bytesMax: number;
  readonly repliesMax: number;
  /** Of one user. */
  readonly userBytesMax: number;
  readonly userRepliesMax: number;
  readonly historyBytesMax: number;
}

const historyLimits: HistoryLimits = {
  bytesMax: storedBytesMax,
  repliesMax: storedRepliesMax,
  userBytesMax: storedUserBytesMax,
  userRepliesMax: storedUserRepliesMax,
  historyBytesMax: storedHistoryBytesMax,
};

/**
 * Histories of clients that send only what is new, by the replies that they go on from. A history is a list of messages;
 * each reply is a point in it. A client may go on from any point: behind an earlier one, it becomes a history of its own
 * that shares the messages before. What is stored is as the client has it, without the calls of the gateway's tools: these
 * are the context's.
 *
 * They are in memory, and in a log from which they are restored after a restart.
 */
export class StoredHistories {
  readonly #pointByReply = new Map<string, HistoryPoint>();
  /** The one that was used last is last. */
  readonly #histories = new Set<History>();
  readonly #joined = new LruMap<string, string>(joinedRepliesMax);
  readonly #limits: HistoryLimits;
  readonly #log: HistoryLog | undefined;
  readonly #restoredByUser = new Map<string, Promise<void>>();
  readonly #sizeByUser = new Map<string, StoredSize>();
  #bytes = 0;

  /** Without a log they are lost at a restart. */
  constructor(log?: HistoryLog, limits: Partial<HistoryLimits> = {}) {
    this.#log = log;
    this.#limits = { ...historyLimits, ...limits };
  }

  /** Reads what an earlier run of the gateway stored for this user, once: for an id that is not known. */
  restore(user: string): Promise<void> {
    const restored = this.#restoredByUser.get(user) ?? this.#restore(user);
    this.#restoredByUser.set(user, restored);
    return restored;
  }

  /** A request of the Messages API that has a `thread`. What it does not repeat is what the thread was begun with. */
  openThread({ user, bytes }: HistoryRequest): HistoryOutcome {
    const body = RequestBody.read(bytes, { list: "messages" });
    const thread = body?.field("thread");
    if (body === undefined || !isObject(thread)) return { kind: "whole" };
    const previous = textField(thread, "previous_message_id");
    const point = previous === undefined ? undefined : this.#find(user, previous);
    if (previous !== undefined && point === undefined) return { kind: "not-found", id: previous };
    const sent = pickFields(body, threadFields);
    // The values of before, if they are the same: each request would bring its own copy.
    const fields: JsonObject = point === undefined ? sent : { ...point.fields, ...changedFields(sent, point.fields) };
    const added = body.elements.map((element) => withoutMarks(element));
    return {
      kind: "stored",
      bytes: writeWhole(body, { point, fields: { thread: undefined, ...fields } }),
      settle: (reply, session) => this.#store(user, { from: previous, point, added, fields, reply, session }),
    };
  }

  /** A request of the Responses API. */
  openResponse({ user, bytes }: HistoryRequest): HistoryOutcome {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (!buffer.includes(previousName) && !buffer.includes(conversationName)) return this.#openRoot(user, buffer);
    const body = RequestBody.read(buffer, { list: "input" });
    const isKept = (body?.field("conversation") ?? null) !== null;
    const previous = body?.field("previous_response_id") ?? null;
    if (body === undefined || isKept || typeof previous !== "string") {
      const isElsewhere = body === undefined || isKept;
      return isElsewhere ? { kind: "elsewhere", bytes } : this.#openRoot(user, buffer);
    }
    const point = this.#find(user, previous);
    if (point === undefined) return { kind: "elsewhere", bytes: this.#nameLast(user, { body, previous }) };
    const added = body.elements.map((element) => Buffer.from(element.bytes));
    const isStored = body.field("store") !== false;
    return {
      kind: "stored",
      bytes: writeWhole(body, { point, fields: { previous_response_id: undefined } }),
      settle: async (reply, session) => {
        if (isStored) await this.#store(user, { from: previous, point, added, fields: {}, reply, session });
      },
    };
  }

  /** A request about a response that only the upstream can answer, such as its compaction. */
  nameResponse({ user, bytes }: HistoryRequest): Uint8Array {
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

  /**
   * Sessions were deleted: their replies go, on disk and in memory. What a reply of another session goes on from stays, as a
   * part of that one. Rejects if a file can't be read or written: then it is to be called again.
   */
  async forget({ user, sessions }: DeletedSessions): Promise<void> {
    await this.#log?.remove({ user, sessions });
    // What is being restored may have been read before.
    for (const one of user === undefined ? this.#restoredByUser.keys().toArray() : [user])
      await this.#restoredByUser.get(one);
    const deleted = new Set(sessions);
    // Each is put back, so that they stay in their order.
    for (const history of this.#histories.values().toArray()) {
      const rest = user === undefined || history.user === user ? this.#cut(history, deleted) : history;
      this.#histories.delete(history);
      if (rest !== undefined) this.#histories.add(rest);
    }
  }

  /** A list that has no beginning elsewhere. It is read only if the client goes on from its reply. */
  #openRoot(user: string, bytes: Buffer): HistoryOutcome {
    if ([...notStored, ...keepsList].some((text) => bytes.includes(text))) return { kind: "whole" };
    return {
      kind: "stored",
      bytes,
      settle: (reply, session) =>
        this.#store(user, { from: undefined, point: undefined, added: bytes, fields: {}, reply, session }),
    };
  }

  #nameLast(user: string, { body, previous }: { readonly body: RequestBody; readonly previous: string }): Uint8Array {
    const last = this.#joined.get(replyKey(user, previous));
    return last === undefined ? body.bytes : join(writeBody(body, { fields: { previous_response_id: last } }));
  }

  #find(user: string, id: string): HistoryPoint | undefined {
    const point = this.#pointByReply.get(replyKey(user, id));
    if (point === undefined) return undefined;
    this.#histories.delete(point.history);
    this.#histories.add(point.history);
    return point;
  }

  async #store(
    user: string,
    turn: {
      readonly from: string | undefined;
      readonly point: HistoryPoint | undefined;
      readonly added: Piece;
      readonly fields: JsonObject;
      readonly reply: ReadReply;
      readonly session: string | undefined;
    },
  ): Promise<void> {
    const { id, kind } = turn.reply;
    const said = turn.reply.elements.map(encode);
    const { from, point, added } = kind === "compacted" ? { from: undefined, point: undefined, added: [] } : turn;
    const { session } = turn;
    this.#put(user, { id, point, added, said, fields: turn.fields, session });
    const fields = changedFields(turn.fields, point?.fields ?? {});
    await this.#log?.append(user, {
      id,
      ...(session === undefined ? {} : { session }),
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
      readonly point: HistoryPoint | undefined;
      readonly added: Piece;
      readonly said: readonly Buffer[];
      readonly fields: JsonObject;
      readonly session: string | undefined;
    },
  ): void {
    const { point, added, said, fields } = turn;
    const session = turn.session ?? point?.session;
    const { history, length } = this.#extend(user, point);
    history.pieces.push(added, said);
    const changed = changedFields(fields, point?.fields ?? {});
    const fieldBytes = Object.keys(changed).length === 0 ? 0 : JSON.stringify(changed).length;
    this.#grow(history, fieldBytes + countPieces(history.pieces.slice(length)));
    const key = replyKey(user, turn.id);
    const size = this.#size(user);
    if (!this.#pointByReply.has(key)) size.replies += 1;
    const newest = { history, length: history.pieces.length, fields, session };
    // An id that comes again is the last in order too.
    history.pointByKey.delete(key);
    history.pointByKey.set(key, newest);
    this.#pointByReply.set(key, newest);
    this.#histories.delete(history);
    this.#histories.add(history);
    if (history.bytes > this.#limits.historyBytesMax) this.#drop(history);
    this.#dropOldest(user);
  }

  #size(user: string): StoredSize {
    const size = this.#sizeByUser.get(user) ?? { bytes: 0, replies: 0 };
    this.#sizeByUser.set(user, size);
    return size;
  }

  #grow(history: History, bytes: number): void {
    history.bytes += bytes;
    this.#bytes += bytes;
    this.#size(history.user).bytes += bytes;
  }

  async #restore(user: string): Promise<void> {
    for (const line of (await this.#log?.read(user)) ?? [])
      if ("id" in line) this.#restoreTurn(user, line);
      else this.#joined.set(replyKey(user, line.first), line.last);
  }

  /** Not if it is stored already, or if what it goes on from is not. */
  #restoreTurn(user: string, { id, from, fields, added, said, session }: StoredTurn): void {
    const point = from === undefined ? undefined : this.#pointByReply.get(replyKey(user, from));
    const isMissing = from !== undefined && point === undefined;
    if (isMissing || this.#pointByReply.has(replyKey(user, id))) return;
    this.#put(user, {
      id,
      point,
      added: typeof added === "string" ? Buffer.from(added) : added.map((element) => Buffer.from(element)),
      said: said.map((element) => Buffer.from(element)),
      fields: fields === undefined ? (point?.fields ?? {}) : { ...point?.fields, ...fields },
      session,
    });
  }

  /** The history that goes on behind a point. */
  #extend(user: string, point: HistoryPoint | undefined): { readonly history: History; readonly length: number } {
    const length = point?.length ?? 0;
    if (point !== undefined && point.history.pieces.length === length && this.#histories.has(point.history))
      return { history: point.history, length };
    const pieces = point?.history.pieces.slice(0, length) ?? [];
    const history: History = { user, pieces, bytes: 0, pointByKey: new Map() };
    this.#grow(history, countPieces(pieces));
    return { history, length };
  }

  /** The user's own first, then the oldest of all. The newest one stays: its client is about to go on. */
  #dropOldest(user: string): void {
    const { bytesMax, repliesMax, userBytesMax, userRepliesMax } = this.#limits;
    const own = this.#size(user);
    while (own.bytes > userBytesMax || own.replies > userRepliesMax) {
      const [oldest, next] = this.#histories
        .values()
        .filter((history) => history.user === user)
        .take(2);
      if (oldest === undefined || next === undefined) break;
      this.#drop(oldest);
    }
    while ((this.#bytes > bytesMax || this.#pointByReply.size > repliesMax) && this.#histories.size > 1) {
      const [oldest] = this.#histories;
      if (oldest === undefined) return;
      this.#drop(oldest);
    }
  }

  #drop(history: History): void {
    if (!this.#histories.delete(history)) return;
    this.#grow(history, -history.bytes);
    this.#removePoints(history, history.pointByKey);
  }

  /**
   * The history up to its last reply of a session that is not deleted; undefined if it has none. A cut makes another history:
   * a request that is being answered may go on from what is cut off, and keeps the whole list.
   */
  #cut(history: History, deleted: ReadonlySet<string>): History | undefined {
    const points = [...history.pointByKey];
    const last = points.findLastIndex(([, { session }]) => session === undefined || !deleted.has(session));
    if (last === points.length - 1) return history;
    const length = points[last]?.[1].length;
    if (length === undefined) {
      this.#drop(history);
      return undefined;
    }
    this.#removePoints(history, points.slice(last + 1));
    this.#grow(history, -countPieces(history.pieces.slice(length)));
    const rest: History = { ...history, pieces: history.pieces.slice(0, length), pointByKey: new Map() };
    for (const [key, point] of points.slice(0, last + 1)) {
      const moved = { ...point, history: rest };
      rest.pointByKey.set(key, moved);
      if (this.#pointByReply.get(key) === point) this.#pointByReply.set(key, moved);
    }
    return rest;
  }

  /** An id that another history has too stays with that one, if it has it later. */
  #removePoints(history: History, points: Iterable<readonly [string, HistoryPoint]>): void {
    const size = this.#size(history.user);
    for (const [key, point] of points)
      if (this.#pointByReply.get(key) === point && this.#pointByReply.delete(key)) size.replies -= 1;
  }
}

interface StoredSize {
  bytes: number;
  replies: number;
}

const threadFields = ["system", "tools"] as const;

const replyKey = (user: string, id: string): string => JSON.stringify([user, id]);

const previousName = '"previous_response_id"';
const conversationName = '"conversation"';

/** A client that sends back what the model said keeps the list itself. Within a text the quotes are escaped. */
const keepsList = ['"assistant"', '"function_call_output"', '"output_text"'];

/** Nobody can go on from a response that is not stored. */
const notStored = ['"store":false', '"store": false'];
