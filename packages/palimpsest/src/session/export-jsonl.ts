import { JsonlExport } from "../export/jsonl-export.ts";
import { maskEntry, maskJson, type MaskText } from "../export/mask-secrets.ts";
import type { FormatMode, SourceLine, SourceLog } from "../export/export-document.ts";
import type { BlobsDep } from "../ports/blobs.ts";
import type { ByteSource } from "../ports/transcripts.ts";
import type { ResultContent } from "../schema/block.ts";
import type { BlobId, ToolUseId } from "../schema/brand.ts";
import { type Entry, readEntry } from "../schema/entry.ts";
import { isArray, isObject, parseJson } from "../schema/json.ts";
import { type Damage, type LoggedEntry, readLines } from "../transcript/read-lines.ts";
import { Path } from "../transcript/path.ts";
import { findUndoneEdits } from "../transcript/plan-undo.ts";
import { scanForward, scanLines } from "./scan-lines.ts";

interface AgentSource {
  readonly name: string;
  readonly source: ByteSource;
}

export interface ExportOptions {
  readonly name: string;
  readonly origin: "ours" | "foreign";
  /** The tool that wrote it, where it is another's and known. */
  readonly format?: string | undefined;
  readonly source: ByteSource;
  /** Logs of sub-agents that lie beside the session's. */
  readonly agents: readonly AgentSource[];
  readonly mask?: MaskText;
  readonly onProgress?: (bytesRead: number) => void;
}

/** The whole log with its raw fields, for a document. Memory: in proportion to the log. */
export async function readForDocument(deps: BlobsDep, options: ExportOptions): Promise<SourceLog> {
  const { mask } = options;
  const main = await readAll(options.source, options);
  const path = buildPath(main.lines);
  const entries = path.entries;
  const agents: { name: string; lines: SourceLine[] }[] = [];
  const damage = [...main.damage];
  for (const { name, source } of options.agents) {
    const read = await readAll(source, mask === undefined ? {} : { mask });
    agents.push({ name, lines: read.lines });
    damage.push(...read.damage.map((one) => ({ ...one, detail: `${one.detail} (in the log of sub-agent ${name})` })));
  }
  return {
    name: options.name,
    origin: options.origin,
    format: options.format,
    lines: main.lines,
    path: entries,
    isOnPath: (id) => path.has(id),
    undone: findUndoneEdits(entries),
    problems: path.problems.map(
      ({ kind, entry, parent }) => `${kind} at ${entry}${parent === undefined ? "" : `, parent ${parent}`}`,
    ),
    damage,
    originals: await readOriginals(deps, main.lines, mask),
    agents,
  };
}

function buildPath(lines: readonly LoggedEntry[]): Path {
  const isMain = lines.some(({ entry }) => !entry.sidechain && entry.kind !== "other");
  const path = new Path({ line: isMain ? "main" : "side" });
  for (const line of lines) path.append(line);
  return path;
}

type ReadOptions = Pick<ExportOptions, "mask" | "onProgress">;

async function readAll(source: ByteSource, options: ReadOptions): Promise<{ lines: SourceLine[]; damage: Damage[] }> {
  const lines: SourceLine[] = [];
  const damage: Damage[] = [];
  for await (const read of readRaw(source, options)) {
    for (const { asLogged: _, ...line } of read.lines) lines.push(line);
    damage.push(...read.damage);
  }
  return { lines, damage };
}

type RawLine = SourceLine & { readonly asLogged: string | undefined };

/** The entry is read again from the raw fields, so that both share their blocks. */
async function* readRaw(
  source: ByteSource,
  { mask, onProgress }: ReadOptions,
): AsyncGenerator<{ lines: RawLine[]; damage: readonly Damage[] }> {
  for await (const scanned of scanLines(source)) {
    if (scanned.kind === "too-long") {
      yield { lines: [], damage: [scanned.damage] };
      continue;
    }
    const { bytes, start } = scanned;
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const { logged, damage } = readLines(scanned);
    const lines = logged.flatMap(
      (one) => rawLine(text.toString("utf8", one.start - start, one.end - start), one, mask) ?? [],
    );
    yield { lines, damage };
    onProgress?.(start + bytes.length);
  }
}

function rawLine(line: string, logged: LoggedEntry, mask: MaskText | undefined): RawLine | undefined {
  const json = parseJson(line.startsWith("\uFEFF") ? line.slice(1) : line);
  if (!isObject(json)) return undefined;
  const raw = mask === undefined ? json : maskEntry(json, mask);
  const reading = readEntry(raw);
  if (reading.kind !== "entry") return undefined;
  return {
    ...logged,
    entry: withLoggedId(reading.entry, logged.entry),
    raw,
    asLogged: raw === json ? line.trim() : undefined,
  };
}

/** A message without a uuid is known by its place, which only who read the log knows. */
function withLoggedId(entry: Entry, { id }: Entry): Entry {
  if (id === undefined || entry.id !== undefined || entry.kind === "edit" || entry.kind === "other") return entry;
  return { ...entry, id };
}

interface OffloadedResult {
  readonly blob: BlobId;
  readonly media: "text" | "json";
}

const offloadsIn = (entry: Entry): (readonly [ToolUseId, OffloadedResult])[] =>
  entry.kind !== "edit" || entry.edit.type !== "offload"
    ? []
    : entry.edit.results.flatMap(({ toolUse, blob, media }) =>
        blob === undefined ? [] : [[toolUse, { blob, media: media ?? "text" }] as const],
      );

async function readOriginals(
  deps: BlobsDep,
  lines: readonly SourceLine[],
  mask: MaskText | undefined,
): Promise<Map<BlobId, ResultContent>> {
  const originals = new Map<BlobId, ResultContent>();
  for (const { entry } of lines) {
    for (const [, offloaded] of offloadsIn(entry)) {
      if (originals.has(offloaded.blob)) continue;
      const content = await readOriginal(deps, offloaded, mask);
      if (content !== undefined) originals.set(offloaded.blob, content);
    }
  }
  return originals;
}

/** Undefined where the blob is gone, damaged or not what its media says. */
async function readOriginal(
  deps: BlobsDep,
  { blob, media }: OffloadedResult,
  mask: MaskText | undefined,
): Promise<ResultContent | undefined> {
  const bytes = await deps.blobs.get(blob);
  if (bytes === undefined) return undefined;
  // A mark at the beginning is the result's own first character.
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  if (media === "text") return mask === undefined ? text : mask(text);
  const blocks = parseBlocksJson(text);
  const masked = blocks === undefined || mask === undefined ? blocks : maskJson(blocks, mask);
  return isArray(masked) ? masked.filter((block) => isObject(block)) : undefined;
}

function parseBlocksJson(text: string) {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

interface JsonlExportOptions extends ExportOptions {
  readonly mode: FormatMode;
}

/**
 * The lines of a JSONL export, each without its newline. Memory: a chunk of the log, the names of offloaded results and
 * one blob at a time. The damage is told at the end.
 */
export async function* exportJsonl(
  deps: BlobsDep,
  options: JsonlExportOptions,
): AsyncGenerator<string, readonly Damage[]> {
  const known = await scanLaterFacts(options.source);
  const run = { deps, options, known };
  let copiedBytes: number | undefined;
  if (known.copy !== undefined) {
    copiedBytes = 0;
    for await (const { text, start } of exportLines({ ...run, sources: [options.source] }))
      if (start >= known.copy.start && start < known.copy.end) copiedBytes += Buffer.byteLength(text) + 1;
  }
  const damage: Damage[] = [];
  const sources = [options.source, ...options.agents.map((agent) => agent.source)];
  const all = { ...run, sources, damage, ...(copiedBytes === undefined ? {} : { copiedBytes }) };
  for await (const { text } of exportLines({
    ...all,
    ...(options.onProgress === undefined ? {} : { onProgress: options.onProgress }),
  }))
    yield text;
  return damage;
}

interface ExportRun {
  readonly deps: BlobsDep;
  readonly options: JsonlExportOptions;
  readonly known: LaterFacts;
  readonly sources: readonly ByteSource[];
  readonly copiedBytes?: number;
  readonly damage?: Damage[];
  readonly onProgress?: (bytesRead: number) => void;
}

async function* exportLines(run: ExportRun): AsyncGenerator<{ text: string; start: number }> {
  const { mask, mode } = run.options;
  const current = new Map<ToolUseId, ResultContent>();
  const out = new JsonlExport({
    mode,
    originalOf: (call) => current.get(call),
    ...(run.copiedBytes === undefined ? {} : { copiedBytes: run.copiedBytes }),
  });
  const reading = {
    ...(mask === undefined ? {} : { mask }),
    ...(run.onProgress === undefined ? {} : { onProgress: run.onProgress }),
  };
  for (const source of run.sources) {
    for await (const read of readRaw(source, reading)) {
      run.damage?.push(...read.damage);
      for (const line of read.lines) {
        await fetchOriginals({ deps: run.deps, offloads: run.known.offloads, current, mask }, line.entry);
        const text = out.line(line);
        if (text !== undefined) yield { text, start: line.start };
      }
    }
  }
}

/** What later lines say about earlier ones. */
interface LaterFacts {
  readonly offloads: ReadonlyMap<ToolUseId, OffloadedResult>;
  readonly copy: { readonly start: number; readonly end: number } | undefined;
}

async function scanLaterFacts(source: ByteSource): Promise<LaterFacts> {
  const offloads = new Map<ToolUseId, OffloadedResult>();
  let copy: LaterFacts["copy"];
  for await (const { logged } of scanForward(source)) {
    for (const { entry, end } of logged) {
      for (const [call, offloaded] of offloadsIn(entry)) if (!offloads.has(call)) offloads.set(call, offloaded);
      if (entry.kind === "edit" && entry.edit.type === "origin")
        copy = { start: end + 1, end: end + 1 + entry.edit.length };
    }
  }
  return { offloads, copy };
}

interface FetchInput {
  readonly deps: BlobsDep;
  readonly offloads: ReadonlyMap<ToolUseId, OffloadedResult>;
  readonly current: Map<ToolUseId, ResultContent>;
  readonly mask: MaskText | undefined;
}

/** Holds what this entry's results need, and nothing of the entries before. */
async function fetchOriginals({ deps, offloads, current, mask }: FetchInput, entry: Entry): Promise<void> {
  current.clear();
  if (entry.kind !== "user") return;
  for (const block of entry.blocks) {
    const offloaded = block.type === "tool_result" ? offloads.get(block.tool_use_id) : undefined;
    if (block.type !== "tool_result" || offloaded === undefined) continue;
    const content = await readOriginal(deps, offloaded, mask);
    if (content !== undefined) current.set(block.tool_use_id, content);
  }
}
