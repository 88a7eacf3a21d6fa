import type { SessionId } from "../schema/brand.ts";
import { readEntry } from "../schema/entry.ts";
import { type JsonObject, text } from "../schema/json.ts";
import type { ByteSource, SessionSummary } from "../ports/transcripts.ts";
import { typedText } from "../transcript/person.ts";
import { LazyEntries, linesIn } from "./lazy-entries.ts";
import { countedGrowthBytesMax, firstPromptCharsMax, summaryEndBytes } from "./limits.ts";

export interface Summarised {
  readonly source: ByteSource;
  readonly sessionId: SessionId;
  readonly fullPath: string;
  readonly mtimeMs: number;
  readonly birthtimeMs: number;
  /** An older row of the same transcript: its count stands for the bytes it covered. */
  readonly earlier: Pick<SessionSummary, "sizeBytes" | "messageCount"> | undefined;
}

/** One row of the list, from both ends of the transcript: the bytes read do not depend on its length. */
export async function summarise(session: Summarised): Promise<SessionSummary> {
  const { entries, messageCount } = await ends(session);
  return {
    sessionId: session.sessionId,
    fullPath: session.fullPath,
    fileMtime: session.mtimeMs,
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

async function ends({ source, earlier }: Summarised): Promise<Ends> {
  const size = source.size;
  if (size <= 2 * summaryEndBytes) {
    const entries = new LazyEntries(linesIn(await source.read({ start: 0, end: size })));
    return { entries, messageCount: countMessages(entries) };
  }
  const head = linesIn(await source.read({ start: 0, end: summaryEndBytes }));
  const tail = linesIn(await source.read({ start: size - summaryEndBytes, end: size }));
  // The last line of the head and the first of the tail are cut.
  const entries = new LazyEntries([...head.slice(0, -1), ...tail.slice(1)]);
  return { entries, messageCount: await countFrom(source, earlier) };
}

async function countFrom(source: ByteSource, earlier: Summarised["earlier"]): Promise<number | undefined> {
  if (earlier?.messageCount === undefined) return undefined;
  const { sizeBytes, messageCount } = earlier;
  const growth = source.size - sizeBytes;
  if (growth < 0 || growth > countedGrowthBytesMax || sizeBytes === 0) return undefined;
  // From one byte earlier: a count that ended in the middle of a line can't be carried on.
  const grown = await source.read({ start: sizeBytes - 1, end: source.size });
  if (grown[0] !== newline) return undefined;
  return messageCount + countMessages(new LazyEntries(linesIn(grown.subarray(1))));
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
