import type { SessionId } from "../schema/brand.ts";
import { readEntry } from "../schema/entry.ts";
import { type JsonObject, textField, isObject, parseJson } from "../schema/json.ts";
import type { MessageCountMode, SessionSummary } from "../ports/store.ts";
import type { ByteSource } from "../ports/transcripts.ts";
import { userTypedText } from "../transcript/user-text.ts";
import {
  copyChunkBytes,
  countedGrowthBytesMax,
  firstPromptCharsMax,
  summaryEndBytes,
  tornLineParsedBytesMax,
} from "./limits.ts";
import { findSecrets, maskFindings } from "../text/find-secrets.ts";

interface SummariseSessionInput {
  readonly source: ByteSource;
  readonly sessionId: SessionId;
  readonly mtimeMs: number;
  readonly birthtimeMs: number;
  /** An older row of the same transcript: its count is reused for the bytes that it covered. */
  readonly earlier: Pick<SessionSummary, "sizeBytes" | "messageCount"> | undefined;
  readonly counting: MessageCountMode;
}

/** One row of the list, read from both ends of the transcript. Unless all messages are counted, the bytes read do not depend on its length. */
export async function summariseSession(session: SummariseSessionInput): Promise<SessionSummary> {
  const { entries, messageCount } = await readEnds(session);
  return {
    sessionId: session.sessionId,
    firstPrompt: clipPrompt(entries.first("message", promptText) ?? ""),
    summary: findTitle(entries),
    messageCount,
    created: entries.first("timestamp", entryTimestamp) ?? toIso(session.birthtimeMs),
    modified: entries.last("timestamp", entryTimestamp) ?? toIso(session.mtimeMs),
    gitBranch: entries.last("gitBranch", (entry) => nonEmpty(entry, "gitBranch")),
    projectPath: entries.first("cwd", (entry) => nonEmpty(entry, "cwd")),
    isSidechain: entries.first("message", (entry) => (isMessage(entry) ? isSide(entry) : undefined)) ?? false,
    sizeBytes: session.source.size,
  };
}

/** All messages of a transcript, by the rule of the list. */
export const countMessages = (source: ByteSource): Promise<number> =>
  countFrom(source, { start: 0, counter: new MessageCounter() });

interface TranscriptEnds {
  /** The entries of the head, then those of the tail; the part in between was not read. */
  readonly entries: LazyEntries;
  readonly messageCount: number | undefined;
}

async function readEnds({ source, earlier, counting }: SummariseSessionInput): Promise<TranscriptEnds> {
  const size = source.size;
  if (size <= 2 * summaryEndBytes) {
    const entries = new LazyEntries(splitLines(await source.read({ start: 0, end: size })));
    return { entries, messageCount: new MessageCounter().add(entries) };
  }
  const head = splitLines(await source.read({ start: 0, end: summaryEndBytes }));
  const tail = splitLines(await source.read({ start: size - summaryEndBytes, end: size }));
  // The last line of the head and the first of the tail are cut.
  const entries = new LazyEntries([...head.slice(0, -1), ...tail.slice(1)]);
  return { entries, messageCount: await countBehind(source, { earlier, counting }) };
}

/** Continues from an earlier count if there is one; undefined if it would have to read more than a quick list may. */
async function countBehind(
  source: ByteSource,
  { earlier, counting }: Pick<SummariseSessionInput, "earlier" | "counting">,
): Promise<number | undefined> {
  const counted = await findEarlierCount(source, earlier);
  const { start, count } = counted ?? { start: 0, count: 0 };
  if (counting === "near" && (counted === undefined || source.size - start > countedGrowthBytesMax)) return undefined;
  const before = { start: Math.max(0, start - summaryEndBytes), end: start };
  const counter = new MessageCounter();
  // The role that the count ended with: the next entry may belong to the same message.
  if (start > 0) counter.add(new LazyEntries(splitLines(await source.read(before))));
  return count + (await countFrom(source, { start, counter }));
}

interface CountedPart {
  /** The start of the first line that was not counted. */
  readonly start: number;
  readonly count: number;
}

async function findEarlierCount(
  source: ByteSource,
  earlier: SummariseSessionInput["earlier"],
): Promise<CountedPart | undefined> {
  if (earlier?.messageCount === undefined || earlier.sizeBytes === 0 || earlier.sizeBytes > source.size)
    return undefined;
  const start = earlier.sizeBytes;
  // A count that ended in the middle of a line can't be continued.
  const [last] = await source.read({ start: start - 1, end: start });
  return last === newlineByte ? { start, count: earlier.messageCount } : undefined;
}

/** Reads in chunks and holds one chunk and its last, incomplete line. A line that is too long to be parsed does not count. */
async function countFrom(
  source: ByteSource,
  from: { readonly start: number; readonly counter: MessageCounter },
): Promise<number> {
  const { counter } = from;
  let count = 0;
  let cut: Uint8Array = new Uint8Array();
  for (let { start } = from; start < source.size; start += copyChunkBytes) {
    const piece = await source.read({ start, end: Math.min(start + copyChunkBytes, source.size) });
    const lines = splitLines(cut.byteLength === 0 ? piece : Buffer.concat([cut, piece]));
    const rest = lines.at(-1) ?? cut;
    count += counter.add(new LazyEntries(lines.slice(0, -1)));
    cut = rest.byteLength > tornLineParsedBytesMax ? new Uint8Array() : rest;
  }
  return count + counter.add(new LazyEntries(splitLines(cut)));
}

const newlineByte = 0x0a;

type EntryReader<Found> = (entry: JsonObject) => Found | undefined;

/**
 * Decodes and parses lines only when they are read: a list needs a few lines of each of thousands of transcripts. `key` is
 * a JSON key or string that a line must contain for `read` to find anything; other lines are skipped without decoding.
 */
class LazyEntries {
  readonly #lines: readonly Buffer[];
  readonly #entryByLine = new Map<number, JsonObject | undefined>();

  constructor(lines: readonly Buffer[]) {
    this.#lines = lines;
  }

  first<Found>(key: string, read: EntryReader<Found>): Found | undefined {
    for (let index = 0; index < this.#lines.length; index += 1) {
      const found = this.#readAt({ index, key, read });
      if (found !== undefined) return found;
    }
    return undefined;
  }

  last<Found>(key: string, read: EntryReader<Found>): Found | undefined {
    for (let index = this.#lines.length - 1; index >= 0; index -= 1) {
      const found = this.#readAt({ index, key, read });
      if (found !== undefined) return found;
    }
    return undefined;
  }

  count(key: string, matches: (entry: JsonObject) => boolean): number {
    let count = 0;
    for (let index = 0; index < this.#lines.length; index += 1) {
      if (this.#readAt({ index, key, read: (entry) => matches(entry) || undefined }) === true) count += 1;
    }
    return count;
  }

  #readAt<Found>(look: { index: number; key: string; read: EntryReader<Found> }): Found | undefined {
    const line = this.#lines[look.index];
    if (line === undefined || !line.includes(`"${look.key}"`)) return undefined;
    if (!this.#entryByLine.has(look.index)) this.#entryByLine.set(look.index, parseObject(line.toString("utf8")));
    const entry = this.#entryByLine.get(look.index);
    return entry === undefined ? undefined : look.read(entry);
  }
}

/** Undefined for a damaged line: opening the transcript reports the damage, but listing must not fail. */
function parseObject(line: string): JsonObject | undefined {
  try {
    const value = parseJson(line);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Returns views into the chunk; nothing is copied. */
function splitLines(chunk: Uint8Array): readonly Buffer[] {
  const data = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  const lines: Buffer[] = [];
  for (let start = 0; start <= data.byteLength;) {
    const newline = data.indexOf(0x0a, start);
    const end = newline === -1 ? data.byteLength : newline;
    lines.push(data.subarray(start, end));
    start = end + 1;
  }
  return lines;
}

const isMessage = (entry: JsonObject): boolean => entry["type"] === "user" || entry["type"] === "assistant";
const isSide = (entry: JsonObject): boolean => entry["isSidechain"] === true;

/** Counts messages as a request shows them: entries of one role in a row are one, such as the blocks of a reply. */
class MessageCounter {
  #role: string | undefined;

  /** How many more there are with these entries. */
  add(entries: LazyEntries): number {
    return entries.count("message", (entry) => {
      if (!isMessage(entry) || isSide(entry)) return false;
      const role = textField(entry, "type");
      const isNew = role !== this.#role;
      this.#role = role;
      return isNew;
    });
  }
}

const promptText = (raw: JsonObject): string | undefined => {
  const reading = readEntry(raw);
  return reading.kind === "entry" ? userTypedText(reading.entry) : undefined;
};

/**
 * Counts code points, so that no surrogate pair is split. The first slice bounds the work for a huge prompt. Secrets are
 * masked: rows are shown in lists and kept in a file of their own.
 */
const clipPrompt = (prompt: string): string =>
  Array.from(maskText(prompt.slice(0, 2 * firstPromptCharsMax)))
    .slice(0, firstPromptCharsMax)
    .join("");

const maskText = (text: string): string => maskFindings(text, findSecrets(text));

/** Prefers the user's title over the model's, and the newest of each. */
function findTitle(entries: LazyEntries): string | undefined {
  const newest = (type: string, key: string) =>
    entries.last(type, (entry) => (entry["type"] === type ? nonEmpty(entry, key) : undefined));
  const title = newest("custom-title", "customTitle") ?? newest("ai-title", "aiTitle") ?? newest("summary", "summary");
  return title === undefined ? undefined : maskText(title);
}

function entryTimestamp(entry: JsonObject): string | undefined {
  const stamp = textField(entry, "timestamp");
  return stamp === undefined ? undefined : isoTime(stamp);
}

/** Normalises times, because rows are sorted by them and a string that parses as a date may contain arbitrary text in parentheses. */
export function isoTime(stamp: string): string | undefined {
  const ms = Date.parse(stamp);
  return Number.isNaN(ms) ? undefined : toIso(ms);
}

const nonEmpty = (entry: JsonObject, key: string): string | undefined => textField(entry, key) || undefined;

const toIso = (ms: number): string => new Date(ms).toISOString();

/** Newest first; equal times by id, so that two lists of the same sessions are the same list. */
export const byNewest = (a: SessionSummary, b: SessionSummary): number =>
  Date.parse(b.modified) - Date.parse(a.modified) || (a.sessionId < b.sessionId ? -1 : 1);
