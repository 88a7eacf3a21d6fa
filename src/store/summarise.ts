import type { SessionId } from "../schema/brand.ts";
import { field, isArray, isObject, type JsonObject, parseJson, text } from "../schema/json.ts";
import type { ByteSource, SessionSummary } from "../ports/transcripts.ts";
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
  const { head, tail, messageCount } = await ends(session);
  const all = [...head, ...tail];
  return {
    sessionId: session.sessionId,
    fullPath: session.fullPath,
    fileMtime: session.mtimeMs,
    firstPrompt: clipped(firstOf(all, promptOf) ?? ""),
    summary: titleOf(all),
    messageCount,
    created: firstOf(head, timestampOf) ?? isoOf(session.birthtimeMs),
    modified: lastOf(all, timestampOf) ?? isoOf(session.mtimeMs),
    gitBranch: lastOf(all, (entry) => nonEmpty(entry, "gitBranch")),
    projectPath: firstOf(all, (entry) => nonEmpty(entry, "cwd")),
    isSidechain: all.find(isMessage)?.["isSidechain"] === true,
    sizeBytes: session.source.size,
  };
}

interface Ends {
  readonly head: readonly JsonObject[];
  readonly tail: readonly JsonObject[];
  readonly messageCount: number | undefined;
}

async function ends({ source, earlier }: Summarised): Promise<Ends> {
  const size = source.size;
  if (size <= 2 * summaryEndBytes) {
    const head = entriesIn(await source.read({ start: 0, end: size }), "first-line-whole");
    return { head, tail: [], messageCount: countMessages(head) };
  }
  const head = entriesIn(await source.read({ start: 0, end: summaryEndBytes }), "first-line-whole");
  const tail = entriesIn(await source.read({ start: size - summaryEndBytes, end: size }), "first-line-cut");
  return { head, tail, messageCount: await countFrom(source, earlier) };
}

async function countFrom(source: ByteSource, earlier: Summarised["earlier"]): Promise<number | undefined> {
  if (earlier?.messageCount === undefined) return undefined;
  const { sizeBytes, messageCount } = earlier;
  const growth = source.size - sizeBytes;
  if (growth < 0 || growth > countedGrowthBytesMax || sizeBytes === 0) return undefined;
  // From one byte earlier: a count that ended in the middle of a line can't be carried on.
  const grown = await source.read({ start: sizeBytes - 1, end: source.size });
  if (grown[0] !== newline) return undefined;
  return messageCount + countMessages(entriesIn(grown.subarray(1), "first-line-whole"));
}

const newline = 0x0a;

/** Lines that do not parse are skipped: damage is reported by whoever opens the transcript, a list must come out all the same. */
function entriesIn(chunk: Uint8Array, begins: "first-line-whole" | "first-line-cut"): readonly JsonObject[] {
  const lines = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString("utf8").split("\n");
  return lines
    .slice(begins === "first-line-cut" ? 1 : 0)
    .map(objectIn)
    .filter((entry) => entry !== undefined);
}

function objectIn(line: string): JsonObject | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    const value = parseJson(line);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const isMessage = (entry: JsonObject): boolean => entry["type"] === "user" || entry["type"] === "assistant";

const countMessages = (entries: readonly JsonObject[]): number =>
  entries.filter((entry) => isMessage(entry) && entry["isSidechain"] !== true).length;

/** What a person typed; undefined for everything that an engine, a tool or a slash command wrote. */
function promptOf(entry: JsonObject): string | undefined {
  if (
    entry["type"] !== "user" ||
    entry["isMeta"] === true ||
    entry["isSidechain"] === true ||
    entry["isCompactSummary"] === true
  )
    return undefined;
  const message = field(entry, "message");
  const prompt = isObject(message) ? textOf(message).trim() : "";
  const written = prompt === "" || prompt.startsWith("<command-") || prompt.startsWith("<local-command");
  return written ? undefined : prompt;
}

function textOf(message: JsonObject): string {
  const content = field(message, "content");
  if (typeof content === "string") return content;
  if (!isArray(content)) return "";
  const blocks = content.filter(isObject);
  if (blocks.some((block) => block["type"] === "tool_result")) return "";
  return blocks.flatMap((block) => (block["type"] === "text" ? (text(block, "text") ?? []) : [])).join("\n");
}

/** Counted in code points, so that no pair of surrogates is split. The slice bounds the work for a huge prompt. */
const clipped = (prompt: string): string =>
  Array.from(prompt.slice(0, 2 * firstPromptCharsMax))
    .slice(0, firstPromptCharsMax)
    .join("");

/** What a person chose before what a model chose, the newest of each. */
function titleOf(entries: readonly JsonObject[]): string | undefined {
  const newest = (type: string, key: string) =>
    lastOf(entries, (entry) => (entry["type"] === type ? nonEmpty(entry, key) : undefined));
  return newest("custom-title", "customTitle") ?? newest("ai-title", "aiTitle") ?? newest("summary", "summary");
}

function timestampOf(entry: JsonObject): string | undefined {
  const stamp = text(entry, "timestamp");
  return stamp === undefined || Number.isNaN(Date.parse(stamp)) ? undefined : stamp;
}

const nonEmpty = (entry: JsonObject, key: string): string | undefined => text(entry, key) || undefined;

const isoOf = (ms: number): string => new Date(ms).toISOString();

function firstOf(entries: readonly JsonObject[], read: (entry: JsonObject) => string | undefined): string | undefined {
  for (const entry of entries) {
    const found = read(entry);
    if (found !== undefined) return found;
  }
  return undefined;
}

function lastOf(entries: readonly JsonObject[], read: (entry: JsonObject) => string | undefined): string | undefined {
  for (let index = entries.length - 1; index >= 0; index -= 1) {
    const found = read(entries[index] ?? {});
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Newest first; equal times by id, so that two lists of the same sessions are the same list. */
export const byNewest = (a: SessionSummary, b: SessionSummary): number =>
  Date.parse(b.modified) - Date.parse(a.modified) || (a.sessionId < b.sessionId ? -1 : 1);
