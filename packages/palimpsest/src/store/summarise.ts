import type { SessionId } from "../schema/brand.ts";
import { readEntry } from "../schema/entry.ts";
import { type JsonObject, text } from "../schema/json.ts";
import type { ListCounting, SessionSummary } from "../ports/session-list.ts";
import type { ByteSource } from "../ports/transcripts.ts";
import { typedText } from "../transcript/person.ts";
import { LazyEntries, linesIn } from "./lazy-entries.ts";
import {
  copyChunkBytes,
  countedGrowthBytesMax,
  firstPromptCharsMax,
  summaryEndBytes,
  tornLineParsedBytesMax,
} from "./limits.ts";

export interface Summarised {
  readonly source: ByteSource;
  readonly sessionId: SessionId;
  readonly mtimeMs: number;
  readonly birthtimeMs: number;
  /** An older row of the same transcript: its count stands for the bytes it covered. */
  readonly earlier: Pick<SessionSummary, "sizeBytes" | "messageCount"> | undefined;
  readonly counting: ListCounting;
}

/** One row of the list, from both ends of the transcript: unless everything is to be counted, the bytes read do not depend on its length. */
export async function summarise(session: Summarised): Promise<SessionSummary> {
  const { entries, messageCount } = await ends(session);
  return {
    sessionId: session.sessionId,
    firstPrompt: clipped(entries.first("message", promptOf) ?? ""),
    summary: titleOf(entries),
    messageCount,
    created: entries.first("timestamp", timestampOf) ?? isoOf(session.birthtimeMs),
    modified: entries.last("timestamp", timestampOf) ?? isoOf(session.mtimeMs),
    gitBranch: entries.last("gitBranch", (entry) => nonEmpty(entry, "gitBranch")),
    projectPath: entries.first("cwd", (entry) => nonEmpty(entry, "cwd")),
    isSidechain: entries.first("message", (entry) => (isMessage(entry) ? isSide(entry) : undefined)) ?? false,
    sizeBytes: session.source.size,
  };
}

interface Ends {
  /** Of the head, then of the tail: what lies between was not read. */
  readonly entries: LazyEntries;
  readonly messageCount: number | undefined;
}

async function ends({ source, earlier, counting }: Summarised): Promise<Ends> {
  const size = source.size;
  if (size <= 2 * summaryEndBytes) {
    const entries = new LazyEntries(linesIn(await source.read({ start: 0, end: size })));
    return { entries, messageCount: countMessages(entries) };
  }
  const head = linesIn(await source.read({ start: 0, end: summaryEndBytes }));
  const tail = linesIn(await source.read({ start: size - summaryEndBytes, end: size }));
  // The last line of the head and the first of the tail are cut.
  const entries = new LazyEntries([...head.slice(0, -1), ...tail.slice(1)]);
  return { entries, messageCount: await countBehind(source, { earlier, counting }) };
}

/** Goes on from an earlier count where there is one; undefined where more would have to be read than a quick list may. */
async function countBehind(
  source: ByteSource,
  { earlier, counting }: Pick<Summarised, "earlier" | "counting">,
): Promise<number | undefined> {
  const counted = await countedBefore(source, earlier);
  const { start, count } = counted ?? { start: 0, count: 0 };
  if (counting === "near" && (counted === undefined || source.size - start > countedGrowthBytesMax)) return undefined;
  return count + (await countFrom(source, start));
}

interface CountedPart {
  /** Where the first line begins that was not counted. */
  readonly start: number;
  readonly count: number;
}

async function countedBefore(source: ByteSource, earlier: Summarised["earlier"]): Promise<CountedPart | undefined> {
  if (earlier?.messageCount === undefined || earlier.sizeBytes === 0 || earlier.sizeBytes > source.size)
    return undefined;
  const start = earlier.sizeBytes;
  // A count that ended in the middle of a line can't be carried on.
  const [last] = await source.read({ start: start - 1, end: start });
  return last === newline ? { start, count: earlier.messageCount } : undefined;
}

/** Piece by piece: memory holds one piece and the line that it cuts. A line that is too long to be parsed is no message. */
async function countFrom(source: ByteSource, from: number): Promise<number> {
  let count = 0;
  let cut: Uint8Array = new Uint8Array();
  for (let start = from; start < source.size; start += copyChunkBytes) {
    const piece = await source.read({ start, end: Math.min(start + copyChunkBytes, source.size) });
    const lines = linesIn(cut.byteLength === 0 ? piece : Buffer.concat([cut, piece]));
    const rest = lines.at(-1) ?? cut;
    count += countMessages(new LazyEntries(lines.slice(0, -1)));
    cut = rest.byteLength > tornLineParsedBytesMax ? new Uint8Array() : rest;
  }
  return count + countMessages(new LazyEntries(linesIn(cut)));
}

const newline = 0x0a;

const isMessage = (entry: JsonObject): boolean => entry["type"] === "user" || entry["type"] === "assistant";
const isSide = (entry: JsonObject): boolean => entry["isSidechain"] === true;

const countMessages = (entries: LazyEntries): number =>
  entries.count("message", (entry) => isMessage(entry) && !isSide(entry));

const promptOf = (raw: JsonObject): string | undefined => {
  const reading = readEntry(raw);
  return reading.kind === "entry" ? typedText(reading.entry) : undefined;
};

/** Counted in code points, so that no pair of surrogates is split. The slice bounds the work for a huge prompt. */
const clipped = (prompt: string): string =>
  Array.from(prompt.slice(0, 2 * firstPromptCharsMax))
    .slice(0, firstPromptCharsMax)
    .join("");

/** What a person chose before what a model chose, the newest of each. */
function titleOf(entries: LazyEntries): string | undefined {
  const newest = (type: string, key: string) =>
    entries.last(type, (entry) => (entry["type"] === type ? nonEmpty(entry, key) : undefined));
  return newest("custom-title", "customTitle") ?? newest("ai-title", "aiTitle") ?? newest("summary", "summary");
}

function timestampOf(entry: JsonObject): string | undefined {
  const stamp = text(entry, "timestamp");
  return stamp === undefined ? undefined : isoTime(stamp);
}

/** One form for all, since rows are sorted by it. What parses as a date may hold anything, in brackets. */
export function isoTime(stamp: string): string | undefined {
  const ms = Date.parse(stamp);
  return Number.isNaN(ms) ? undefined : isoOf(ms);
}

const nonEmpty = (entry: JsonObject, key: string): string | undefined => text(entry, key) || undefined;

const isoOf = (ms: number): string => new Date(ms).toISOString();

/** Newest first; equal times by id, so that two lists of the same sessions are the same list. */
export const byNewest = (a: SessionSummary, b: SessionSummary): number =>
  Date.parse(b.modified) - Date.parse(a.modified) || (a.sessionId < b.sessionId ? -1 : 1);
