import { entryId } from "../schema/brand.ts";
import { type Entry, readEntry } from "../schema/entry.ts";
import { isObject, parseJson } from "../schema/json.ts";
import { lineBytesMax, salvageBytesMax, salvageTriesMax } from "./limits.ts";

/** An entry and the bytes of the log it was read from. */
export interface LoggedEntry {
  readonly entry: Entry;
  readonly start: number;
  readonly end: number;
}

/** A message without a uuid gets an id from its byte range: the log only grows, so the range stays the same. */
const placeIdPattern = /^line-(?<start>\d+)-(?<end>\d+)$/;

function toLoggedEntry(entry: Entry, { start, end }: { readonly start: number; readonly end: number }): LoggedEntry {
  const keepsId = entry.id !== undefined || entry.kind === "edit" || entry.kind === "other";
  return { entry: keepsId ? entry : { ...entry, id: entryId(`line-${start}-${end}`) }, start, end };
}

/** The byte range in such an id; undefined for any other id. */
export function parsePlaceId(id: string): { readonly start: number; readonly end: number } | undefined {
  const groups = placeIdPattern.exec(id)?.groups;
  return groups === undefined ? undefined : { start: Number(groups["start"]), end: Number(groups["end"]) };
}

/**
 * `torn`: the last line, cut before its end. `nul`: a run of NUL bytes. `utf8`: bytes that are not UTF-8; the record
 * around them is read with U+FFFD in their place. `json`: no record can be read from the range. `glued`: two whole
 * records without a newline between them; both are read. `too-long`: over `lineBytesMax`. `not-an-entry`: JSON, but not
 * an object with a `type`.
 */
export type DamageKind = "torn" | "nul" | "utf8" | "json" | "glued" | "too-long" | "not-an-entry";
export interface Damage {
  readonly kind: DamageKind;
  readonly start: number;
  readonly end: number;
  readonly detail: string;
}

export interface LinesRead {
  readonly logged: LoggedEntry[];
  readonly damage: Damage[];
}

export interface LineBytes {
  /** Without the newline. */
  readonly bytes: Uint8Array;
  /** Offset of the first byte in the log. */
  readonly start: number;
  /** The log ends here without a newline, so the line may be torn. */
  readonly last?: boolean;
}

const newline = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;
const nul = 0x00;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const quote = 0x22;

const strictDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const lenientDecoder = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * Reads every line of a chunk that starts at the beginning of a line. `last`: the chunk ends at the end of the log.
 * Clean lines take a fast path: decoded by range and parsed once, without the extra work that damage needs.
 */
export function readLines(chunk: LineBytes, into: LinesRead = { logged: [], damage: [] }): LinesRead {
  const { bytes, start } = chunk;
  const decode = rangeDecoder(bytes);
  for (let from = 0; from < bytes.length;) {
    const found = bytes.indexOf(newline, from);
    const to = found === -1 ? bytes.length : found;
    const clean = to - from > lineBytesMax ? undefined : readClean(decode(from, to));
    if (clean !== undefined) into.logged.push(toLoggedEntry(clean, { start: start + from, end: start + to }));
    else
      readLine(
        { bytes: bytes.subarray(from, to), start: start + from, last: found === -1 && chunk.last === true },
        into,
      );
    from = to + 1;
  }
  return into;
}

/** Node's own decoder of a range is the faster one; a browser has only the standard's. */
function rangeDecoder(bytes: Uint8Array): (from: number, to: number) => string {
  if (typeof Buffer === "undefined") return (from, to) => lenientDecoder.decode(bytes.subarray(from, to));
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return (from, to) => buffer.toString("utf8", from, to);
}

/**
 * The entry of a line that is exactly one record. Text with U+FFFD is refused, because it may replace bytes that are
 * not UTF-8.
 */
function readClean(text: string): Entry | undefined {
  // A failing parse is expensive (its error quotes the text), so text that is not an object is left to the slow path.
  if (!text.startsWith("{") || text.includes("\uFFFD")) return undefined;
  try {
    const reading = readEntry(parseJson(text));
    return reading.kind === "entry" ? reading.entry : undefined;
  } catch {
    // Not one record: the slow path finds out what it is.
    return undefined;
  }
}

/** Reads one line. Must not throw, whatever the bytes are: an unreadable range is reported as damage. */
export function readLine(line: LineBytes, into: LinesRead): void {
  if (line.bytes.length === 0) return;
  if (line.bytes.length > lineBytesMax) {
    into.damage.push(
      toDamage(line, {
        kind: "too-long",
        detail: `a line of ${line.bytes.length} bytes; the limit is ${lineBytesMax}`,
      }),
    );
    return;
  }
  const body = trimLine(line);
  if (body.bytes.length === 0) return;
  const read: ReadAttempt | undefined = isBraced(body.bytes) ? tryRead(line.bytes) : undefined;
  if (read?.kind === "read")
    into.logged.push(toLoggedEntry(read.entry, { start: line.start, end: line.start + line.bytes.length }));
  else salvage(line, into);
}

/** Whether the bytes can be exactly one record. */
const isBraced = (bytes: Uint8Array): boolean => bytes[0] === openBrace && bytes.at(-1) === closeBrace;

/** Recognises, without a parse, text that can't be JSON, such as the lines of a pretty-printed file. */
const jsonFragmentPattern = /^[\]},:]|[[{,:]$/;

type ReadAttempt =
  | { kind: "read"; entry: Entry }
  | { kind: "unread"; why: "utf8" | "json" | "not-an-entry"; detail: string };

function tryRead(bytes: Uint8Array, decoder: typeof strictDecoder = strictDecoder): ReadAttempt {
  // The decoder and JSON.parse report invalid input by throwing. That is an expected outcome here.
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    return { kind: "unread", why: "utf8", detail: "not UTF-8" };
  }
  if (jsonFragmentPattern.test(text)) return { kind: "unread", why: "json", detail: "a part of a JSON value" };
  try {
    const reading = readEntry(parseJson(text));
    if (reading.kind === "entry") return { kind: "read", entry: reading.entry };
    return { kind: "unread", why: "not-an-entry", detail: reading.why };
  } catch (error) {
    return { kind: "unread", why: "json", detail: error instanceof Error ? error.message.slice(0, 120) : "unreadable" };
  }
}

/**
 * The slow path, for lines that are not one clean record: splits at runs of NUL, then reads as much of each piece as
 * possible.
 */
function salvage(line: LineBytes, into: LinesRead): void {
  let from = 0;
  while (from < line.bytes.length) {
    if (line.bytes[from] === nul) {
      const to = endOfRun(line.bytes, from);
      into.damage.push({
        kind: "nul",
        start: line.start + from,
        end: line.start + to,
        detail: `${to - from} NUL bytes`,
      });
      from = to;
      continue;
    }
    const found = line.bytes.indexOf(nul, from);
    const to = found === -1 ? line.bytes.length : found;
    const last = line.last === true && to === line.bytes.length;
    salvagePiece({ bytes: line.bytes.subarray(from, to), start: line.start + from, last }, into);
    from = to;
  }
}

function salvagePiece(piece: LineBytes, into: LinesRead): void {
  const body = trimLine(piece);
  if (body.bytes.length === 0) return;
  const end = body.start + body.bytes.length;
  const whole = tryRead(body.bytes);
  if (whole.kind === "read") {
    into.logged.push(toLoggedEntry(whole.entry, { start: body.start, end: end }));
    return;
  }
  const replaced = whole.why === "utf8" ? tryRead(body.bytes, lenientDecoder) : whole;
  if (replaced.kind === "read") {
    into.logged.push(toLoggedEntry(replaced.entry, { start: body.start, end: end }));
    for (const range of invalidUtf8(body)) into.damage.push(range);
    return;
  }
  if (body.bytes.length <= salvageBytesMax && splitGlued(body, into)) return;
  const { why, detail } = replaced;
  into.damage.push(toDamage(body, { kind: why === "json" && piece.last === true ? "torn" : why, detail }));
}

/**
 * A record that was written after a torn one, or after one whose newline was lost, still ends at the end of the line. It
 * begins at the first `{"` from which the rest of the line is one entry. An object nested in another does not qualify,
 * since the closing of the outer one follows it; if a record was torn right there, the nested object is recognised by
 * its fields.
 */
function splitGlued(line: LineBytes, into: LinesRead): boolean {
  let tries = 0;
  for (let at = nextObject(line.bytes, 1); at !== -1 && tries < salvageTriesMax; at = nextObject(line.bytes, at + 1)) {
    tries += 1;
    const tail = tryRead(line.bytes.subarray(at), lenientDecoder);
    if (tail.kind !== "read" || (isNested(line.bytes, at) && !hasRecordFields(line.bytes.subarray(at)))) continue;
    const head = { bytes: line.bytes.subarray(0, at), start: line.start };
    const readBefore = into.logged.length;
    salvagePiece(head, into);
    const splitAt = line.start + at;
    if (into.logged.length > readBefore)
      into.damage.push({ kind: "glued", start: splitAt, end: splitAt, detail: "no newline between two records" });
    into.logged.push(toLoggedEntry(tail.entry, { start: splitAt, end: line.start + line.bytes.length }));
    return true;
  }
  return false;
}

/** Whether the object is at the position of another object's value. */
const isNested = (bytes: Uint8Array, at: number): boolean => [0x3a, 0x2c, 0x5b].includes(bytes[at - 1] ?? 0);

/** Records have a parent or a session; objects nested in them (a tool's result, a sub-agent's message) do not. */
function hasRecordFields(record: Uint8Array): boolean {
  const raw = parseJson(lenientDecoder.decode(record));
  return isObject(raw) && ("parentUuid" in raw || "sessionId" in raw);
}

function nextObject(bytes: Uint8Array, from: number): number {
  for (let at = bytes.indexOf(openBrace, from); at !== -1; at = bytes.indexOf(openBrace, at + 1)) {
    if (bytes[at + 1] === quote) return at;
  }
  return -1;
}

/** Byte ranges that are not UTF-8, found by decoding character by character: slow, but rarely needed. */
function invalidUtf8(line: LineBytes): Damage[] {
  const ranges: Damage[] = [];
  let from = 0;
  while (from < line.bytes.length) {
    const good = validPrefix(line.bytes.subarray(from));
    from += good;
    if (from >= line.bytes.length) break;
    let to = from + 1;
    while (to < line.bytes.length && validPrefix(line.bytes.subarray(to, to + 4)) === 0) to += 1;
    ranges.push({
      kind: "utf8",
      start: line.start + from,
      end: line.start + to,
      detail: `${to - from} bytes are not UTF-8`,
    });
    from = to;
  }
  return ranges;
}

/** Length of the longest prefix that is valid UTF-8. */
function validPrefix(bytes: Uint8Array): number {
  let at = 0;
  while (at < bytes.length) {
    const length = sequenceLength(bytes, at);
    if (length === 0) return at;
    at += length;
  }
  return at;
}

/** Length in bytes of the character at `at`; 0 if there is no valid one. */
function sequenceLength(bytes: Uint8Array, at: number): number {
  const lead = bytes[at] ?? 0;
  if (lead < 0x80) return 1;
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  try {
    strictDecoder.decode(bytes.subarray(at, at + length));
    return at + length <= bytes.length ? length : 0;
  } catch {
    return 0;
  }
}

function endOfRun(bytes: Uint8Array, from: number): number {
  let to = from;
  while (to < bytes.length && bytes[to] === nul) to += 1;
  return to;
}

const isSpace = (byte: number | undefined): boolean => byte === space || byte === carriageReturn || byte === 0x09;

function trimLine(line: LineBytes): LineBytes {
  let from = line.bytes[0] === 0xef && line.bytes[1] === 0xbb && line.bytes[2] === 0xbf ? 3 : 0;
  let to = line.bytes.length;
  while (from < to && isSpace(line.bytes[from])) from += 1;
  while (to > from && isSpace(line.bytes[to - 1])) to -= 1;
  return { bytes: line.bytes.subarray(from, to), start: line.start + from };
}

const toDamage = ({ start, bytes }: LineBytes, { kind, detail }: Pick<Damage, "kind" | "detail">): Damage => ({
  kind,
  start,
  end: start + bytes.length,
  detail,
});
