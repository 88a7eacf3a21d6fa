import { field, isArray, isObject, type Json, type JsonObject } from "palimpsest/internal/schema/json";
import type { BodyElement } from "../../body/body-element.ts";
import { RequestBody } from "../../body/request-body.ts";
import { type FieldChanges, writeBody } from "../../body/write-body.ts";

/** Elements of the list, or a whole body whose elements have not been read. */
export type Piece = Buffer | readonly Buffer[];

export interface History {
  readonly user: string;
  readonly pieces: Piece[];
  /** Its replies in order, by their keys; not those that it shares with the history that it branched from. */
  readonly pointByKey: Map<string, HistoryPoint>;
  /** Of its pieces, and of fields that are not sent again. */
  bytes: number;
}

/** A reply, as what comes behind it goes on from. */
export interface HistoryPoint {
  readonly history: History;
  /** Pieces up to and with the reply. */
  readonly length: number;
  /** Fields that are not sent again. */
  readonly fields: JsonObject;
  readonly session: string | undefined;
}

/** Those that have another value than before. */
export const changedFields = (fields: JsonObject, before: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name])),
  );

/** An empty list does not count as sent. */
export function pickFields(body: RequestBody, names: readonly string[]): JsonObject {
  return Object.fromEntries(
    names.flatMap((name): readonly (readonly [string, Json])[] => {
      const value = body.field(name) ?? null;
      return value === null || (Array.isArray(value) && value.length === 0) ? [] : [[name, value]];
    }),
  );
}

export function writeWhole(
  body: RequestBody,
  { point, fields }: { readonly point: HistoryPoint | undefined; readonly fields: FieldChanges },
): Buffer {
  // A field that the body has is not written again: its bytes stay the client's own.
  const missing = Object.entries(fields).filter(([name, value]) => value === undefined || !hasField(body, name));
  const list = point === undefined ? undefined : [...readPieces(point), ...body.elements];
  return join(writeBody(body, { fields: Object.fromEntries(missing), ...(list === undefined ? {} : { list }) }));
}

const hasField = (body: RequestBody, name: string): boolean => Object.keys(pickFields(body, [name])).length > 0;

function readPieces({ history, length }: HistoryPoint): readonly Buffer[] {
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

export const countPieces = (pieces: readonly Piece[]): number =>
  pieces.reduce((sum, piece) => sum + countBytes(piece), 0);

export const encode = (value: JsonObject): Buffer => Buffer.from(JSON.stringify(value));

export const decode = (bytes: Buffer): string => bytes.toString("utf8");

export const join = (pieces: readonly Uint8Array[]): Buffer => Buffer.concat(pieces);

/**
 * A mark for the cache belongs to the request that brought it: all of them together would be more than one request may
 * have.
 */
export function withoutMarks({ bytes, value }: BodyElement): Buffer {
  return bytes.includes('"cache_control"') ? encode(stripObject(value)) : Buffer.from(bytes);
}

/** Where a message may hold marked values. The input of a call belongs to the caller. */
const markHolders = ["content", "source", "tool", "definition", "tool_references"] as const;

function stripObject({ cache_control: _mark, ...rest }: JsonObject): JsonObject {
  const stripped = markHolders.flatMap((name): readonly (readonly [string, Json])[] => {
    const inner = field(rest, name);
    return inner === undefined ? [] : [[name, stripMarks(inner)]];
  });
  return { ...rest, ...Object.fromEntries(stripped) };
}

const stripMarks = (value: Json): Json =>
  isArray(value) ? value.map(stripMarks) : isObject(value) ? stripObject(value) : value;
