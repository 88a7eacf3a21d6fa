import type { BlobsDep } from "../ports/blobs.ts";
import type { ByteSource } from "../ports/transcripts.ts";
import type { ResultContent } from "../schema/block.ts";
import type { BlobId, EntryId, MessageId } from "../schema/brand.ts";
import type { Entry } from "../schema/entry.ts";
import { isArray, isObject, tryParseJson } from "../schema/json.ts";
import { Fold, type FoldOptions, type ViewOptions } from "../transcript/fold.ts";
import type { Damage, LoggedEntry } from "../transcript/read-lines.ts";
import type { OriginalContents } from "../transcript/projection.ts";
import { findSystemPrompt } from "../transcript/path.ts";
import { judgeTail, tailPath, type TailVerdict } from "../transcript/judge-tail.ts";
import { findUndoneEdits } from "../transcript/plan-undo.ts";
import { readCheckpoint, type RestoredSeed } from "./checkpoint.ts";
import { scanChunkBytes } from "./limits.ts";
import { readOrigin } from "./session-origin.ts";
import { newline, TailScan, scanForward } from "./scan-lines.ts";

/** A folded log. The view is the same whether the log was read whole or from its end. */
export interface OpenedLog {
  readonly fold: Fold;
  readonly damage: readonly Damage[];
  readonly read: { readonly bytes: number; readonly of: number; readonly from: "beginning" | "boundary" };
  readonly viewOptions: ViewOptions;
  /** Present if the log was opened at a boundary. */
  readonly scanned?: ScannedTail;
}

/** The lines that were read on the way back to a boundary. Some of them lie before everything that the fold holds. */
interface ScannedTail {
  /** Offset of the first line. */
  readonly start: number;
  /** The system prompt that applied to the path, if these lines record one. */
  readonly prompt: string | undefined;
}

export interface OpenLogOptions {
  readonly source: ByteSource;
  readonly origin: "ours" | "foreign";
  /** Edits to treat as undone, for planning an undo. */
  readonly undone?: ReadonlySet<EntryId> | undefined;
  readonly normaliseInput?: FoldOptions["normaliseInput"];
  /** Notified of every block of the view, and of every later change. */
  readonly watch?: FoldOptions["watch"];
  /** Size of the first read from the end of the log. */
  readonly tailBytes?: number | undefined;
  /** `side`: the log of an agent. Absent: of an agent if nothing else is in it. */
  readonly line?: LineKind | undefined;
}

/** Reads backwards from the end until the view is known. The cost is what follows the newest boundary, not what precedes it. */
export async function openLog(deps: BlobsDep, options: OpenLogOptions): Promise<OpenedLog> {
  const foreignUntil =
    options.origin === "foreign" ? options.source.size : ((await readOrigin(options.source))?.until ?? 0);
  if (options.line !== undefined) return await openLine(deps, { ...options, foreignUntil, line: options.line });
  const main = await openLine(deps, { ...options, foreignUntil, line: "main" });
  if (main.fold.path.leaf !== undefined) return main;
  const side = await openLine(deps, { ...options, foreignUntil, line: "side" });
  return side.fold.path.leaf === undefined ? main : side;
}

type LineKind = "main" | "side";

interface LineOptions extends OpenLogOptions {
  readonly line: LineKind;
  readonly foreignUntil: number;
}

async function openLine(deps: BlobsDep, options: LineOptions): Promise<OpenedLog> {
  const scan = new TailScan(options.source, { firstBytes: options.tailBytes });
  const unreadable = new Set<BlobId>();
  let tail: LoggedEntry[] = [];
  while (!scan.done) {
    tail = (await scan.older()).concat(tail);
    if (scan.done) break;
    const opened = await openTail(deps, { ...options, tail, scan, unreadable });
    if (opened !== undefined) return opened;
  }
  return foldLog(deps, { ...options, logged: tail, scan });
}

interface TailState extends LineOptions {
  readonly tail: readonly LoggedEntry[];
  readonly scan: TailScan;
  readonly unreadable: Set<BlobId>;
}

async function openTail(deps: BlobsDep, state: TailState): Promise<OpenedLog | undefined> {
  let verdict: TailVerdict = judgeTailState(state);
  while (verdict.kind === "enough") {
    const { from, checkpoint } = verdict;
    const logged = state.tail.slice(from);
    if (checkpoint === undefined) return foldLog(deps, { ...state, logged, scanned: toScannedTail(state) });
    const restored = await readCheckpoint(deps, { source: state.source, checkpoint });
    if (restored !== undefined) return foldLog(deps, { ...state, logged, scanned: toScannedTail(state), restored });
    state.unreadable.add(checkpoint);
    verdict = judgeTailState(state);
  }
  return undefined;
}

function toScannedTail({ tail, line, source }: TailState): ScannedTail {
  const records = tail.some(({ entry }) => entry.kind === "other" && entry.systemPrompt !== undefined);
  return {
    start: tail[0]?.start ?? source.size,
    prompt: records ? findSystemPrompt(tailPath(tail, line)) : undefined,
  };
}

const judgeTailState = (state: TailState): TailVerdict =>
  judgeTail(state.tail, {
    line: state.line,
    foreignUntil: state.foreignUntil,
    undone: state.undone ?? new Set(),
    unreadable: state.unreadable,
  });

interface FoldLogInput extends LineOptions {
  readonly logged: readonly LoggedEntry[];
  readonly scan: TailScan;
  /** Present if the lines before `logged` are not folded. */
  readonly scanned?: ScannedTail;
  readonly restored?: RestoredSeed;
}

async function foldLog(deps: BlobsDep, { restored, ...state }: FoldLogInput): Promise<OpenedLog> {
  const foldOptions: FoldOptions = {
    line: state.line,
    origin: state.origin,
    foreignUntil: state.foreignUntil,
    read: state.scanned === undefined ? "whole" : "tail",
    ...(restored === undefined ? {} : { seed: restored.seed, places: restored.places }),
    ...(state.normaliseInput === undefined ? {} : { normaliseInput: state.normaliseInput }),
    ...(state.watch === undefined ? {} : { watch: state.watch }),
  };
  const fold = await foldWithOriginals(deps, { ...state, foldOptions });
  const bytes = state.scan.bytesRead + (restored?.bytesRead ?? 0);
  return {
    fold,
    damage: state.scan.damage,
    read: { bytes, of: state.source.size, from: state.scanned === undefined ? "beginning" : "boundary" },
    ...(state.scanned === undefined ? {} : { scanned: state.scanned }),
    viewOptions: {},
  };
}

interface FoldInput extends Pick<OpenLogOptions, "undone"> {
  readonly foldOptions: FoldOptions;
  readonly logged: readonly LoggedEntry[];
}

/** An undone offload needs content that the log no longer holds: its blobs are fetched once the path shows which ones. */
async function foldWithOriginals(deps: BlobsDep, options: FoldInput): Promise<Fold> {
  const { foldOptions, logged, undone = new Set() } = options;
  const originals = new Map<BlobId, ResultContent>();
  const fold = new Fold({ ...foldOptions, originals });
  fold.appendAll(logged);
  const { entries: path } = fold.path;
  const allUndone = findUndoneEdits(path, undone);
  // Includes edits that only the log itself has undone: planning the undo of an undo folds both ways.
  const fetched = await fetchOriginals(deps, { path, undone: allUndone.union(findUndoneEdits(path)) });
  for (const [blob, content] of fetched) originals.set(blob, content);
  if (fetched.size > 0 || undone.size > 0) fold.refold(allUndone);
  return fold;
}

async function fetchOriginals(
  deps: BlobsDep,
  { path, undone }: { readonly path: readonly Entry[]; readonly undone: ReadonlySet<EntryId> },
): Promise<OriginalContents> {
  const contents = new Map<BlobId, ResultContent>();
  for (const entry of path) {
    if (entry.kind !== "edit" || entry.edit.type !== "offload" || !undone.has(entry.id)) continue;
    for (const { blob, media } of entry.edit.results) {
      const bytes = blob === undefined ? undefined : await deps.blobs.get(blob);
      const content = bytes === undefined ? undefined : resultContent(bytes, media ?? "text");
      if (blob !== undefined && content !== undefined) contents.set(blob, content);
    }
  }
  return contents;
}

/** Decodes a blob as the tool result that it holds; undefined if it should hold a JSON list of blocks and does not. */
export function resultContent(bytes: Uint8Array, media: "text" | "json"): ResultContent | undefined {
  // A byte order mark at the beginning belongs to the result.
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  if (media === "text") return text;
  const blocks = tryParseJson(text);
  return isArray(blocks) ? blocks.filter((block) => isObject(block)) : undefined;
}

export interface OpenLogAtOptions extends OpenLogOptions {
  /** An entry's uuid, or a line number counted from 1. */
  readonly at: string;
}

/** Opens the view as it was when the log ended at a given entry or line. Reads the whole log. */
export async function openLogAt(deps: BlobsDep, options: OpenLogAtOptions): Promise<OpenedLog | undefined> {
  const read = await readUntil(options);
  if (read === undefined) return undefined;
  const line: LineKind = read.logged.some(({ entry }) => !entry.sidechain && entry.kind !== "other") ? "main" : "side";
  const foldOptions: FoldOptions = {
    line,
    origin: options.origin,
    ...(options.normaliseInput === undefined ? {} : { normaliseInput: options.normaliseInput }),
    ...(options.watch === undefined ? {} : { watch: options.watch }),
  };
  const fold = await foldWithOriginals(deps, { foldOptions, logged: read.logged });
  const { size } = options.source;
  return {
    fold,
    damage: read.damage,
    read: { bytes: size, of: size, from: "beginning" },
    viewOptions: { continues: (reply) => read.later.has(reply) },
  };
}

interface LogUntil {
  readonly logged: LoggedEntry[];
  readonly damage: Damage[];
  /** Replies that have more entries after the point. */
  readonly later: ReadonlySet<MessageId>;
}

async function readUntil(options: OpenLogAtOptions): Promise<LogUntil | undefined> {
  const { at, source } = options;
  const endOffset = /^\d+$/.test(at) ? await endOfLine(source, Number(at)) : undefined;
  const logged: LoggedEntry[] = [];
  const damage: Damage[] = [];
  const later = new Set<MessageId>();
  let found = false;
  for await (const read of scanForward(source)) {
    for (const line of read.logged) {
      if (found || (endOffset !== undefined && line.start >= endOffset)) {
        if (line.entry.kind === "assistant" && line.entry.messageId !== undefined) later.add(line.entry.messageId);
        continue;
      }
      logged.push(line);
      found = endOffset === undefined && line.entry.id === at;
    }
    for (const range of read.damage) damage.push(range);
  }
  const end = endOffset ?? logged.at(-1)?.end ?? 0;
  return found || endOffset !== undefined
    ? { logged, damage: damage.filter(({ start }) => start < end), later }
    : undefined;
}

/** The offset after a line, counted from 1; undefined if the log has fewer lines. */
async function endOfLine(source: ByteSource, line: number): Promise<number | undefined> {
  let seen = 0;
  let lineStart = 0;
  for (let at = 0; at < source.size;) {
    const chunk = await source.read({ start: at, end: Math.min(at + scanChunkBytes, source.size) });
    if (chunk.length === 0) break;
    for (let found = chunk.indexOf(newline); found !== -1; found = chunk.indexOf(newline, found + 1)) {
      seen += 1;
      lineStart = at + found + 1;
      if (seen === line) return lineStart;
    }
    at += chunk.length;
  }
  return seen === line - 1 && lineStart < source.size ? source.size : undefined;
}
