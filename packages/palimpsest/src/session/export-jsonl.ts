import { JsonlExport } from "../export/jsonl-export.ts";
import { maskEntry, maskJson, type MaskText } from "../export/mask-secrets.ts";
import type { FormatMode, SourceLine, SourceLog } from "../export/export-document.ts";
import type { BlobsDep } from "../ports/blobs.ts";
import type { ByteSource } from "../ports/transcripts.ts";
import type { ResultContent } from "../schema/block.ts";
import type { BlobId, ToolUseId } from "../schema/brand.ts";
import { type Entry, readEntry } from "../schema/entry.ts";
import { isArray, isObject, parseJson, tryParseJson } from "../schema/json.ts";
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
  /** The other tool that wrote the log, if it is known. */
  readonly format?: string | undefined;
  readonly source: ByteSource;
  /** Logs of the session's sub-agents. */
  readonly agents: readonly AgentSource[];
  readonly mask?: MaskText | undefined;
  readonly onProgress?: ((bytesRead: number) => void) | undefined;
}

/** Reads the whole log with its raw fields, for a document. Memory grows with the log. */
export async function readForDocument(deps: BlobsDep, options: ExportOptions): Promise<SourceLog> {
  const { mask } = options;
  const main = await readAll(options.source, options);
  const path = buildPath(main.lines);
  const entries = path.entries;
  const agents: { name: string; lines: SourceLine[] }[] = [];
  const damage = [...main.damage];
  for (const { name, source } of options.agents) {
    const read = await readAll(source, { mask });
    agents.push({ name, lines: read.lines });
    damage.push(
      ...read.damage.map((range) => ({ ...range, detail: `${range.detail} (in the log of sub-agent ${name})` })),
    );
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

/** Parses each entry again from its raw fields, so that both share their blocks. */
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
      (entry) => rawLine(text.toString("utf8", entry.start - start, entry.end - start), entry, mask) ?? [],
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

/** A message without a uuid is identified by its place in the log, which the raw fields do not hold. */
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

/** Undefined if the blob is gone or damaged, or if its content does not fit its media. */
async function readOriginal(
  deps: BlobsDep,
  { blob, media }: OffloadedResult,
  mask: MaskText | undefined,
): Promise<ResultContent | undefined> {
  const bytes = await deps.blobs.get(blob);
  if (bytes === undefined) return undefined;
  // A byte order mark at the beginning belongs to the result.
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  if (media === "text") return mask === undefined ? text : mask(text);
  const blocks = tryParseJson(text);
  const masked = blocks === undefined || mask === undefined ? blocks : maskJson(blocks, mask);
  return isArray(masked) ? masked.filter((block) => isObject(block)) : undefined;
}

interface JsonlExportOptions extends ExportOptions {
  readonly mode: FormatMode;
}

/**
 * Yields the lines of a JSONL export, each without its newline, and returns the damage. Memory: a chunk of the log, the
 * ids of offloaded results and one blob at a time.
 */
export async function* exportJsonl(
  deps: BlobsDep,
  options: JsonlExportOptions,
): AsyncGenerator<string, readonly Damage[]> {
  const laterFacts = await scanLaterFacts(options.source);
  const run = { deps, options, laterFacts };
  const { copy } = laterFacts;
  let copiedBytes: number | undefined;
  if (copy !== undefined) {
    copiedBytes = 0;
    for await (const { text, start } of exportLines({ ...run, sources: [options.source] }))
      if (start >= copy.start && start < copy.end) copiedBytes += Buffer.byteLength(text) + 1;
  }
  const damage: Damage[] = [];
  const sources = [options.source, ...options.agents.map((agent) => agent.source)];
  const { onProgress } = options;
  for await (const { text } of exportLines({ ...run, sources, damage, copiedBytes, onProgress })) yield text;
  return damage;
}

interface ExportRun {
  readonly deps: BlobsDep;
  readonly options: JsonlExportOptions;
  readonly laterFacts: LaterFacts;
  readonly sources: readonly ByteSource[];
  /** Size of the copied log as it is exported, for its origin line. */
  readonly copiedBytes?: number | undefined;
  readonly damage?: Damage[];
  readonly onProgress?: ExportOptions["onProgress"];
}

async function* exportLines(run: ExportRun): AsyncGenerator<{ text: string; start: number }> {
  const { mask, mode } = run.options;
  const current = new Map<ToolUseId, ResultContent>();
  const out = new JsonlExport({
    mode,
    originalOf: (call) => current.get(call),
    ...(run.copiedBytes === undefined ? {} : { copiedBytes: run.copiedBytes }),
  });
  for (const source of run.sources) {
    for await (const read of readRaw(source, { mask, onProgress: run.onProgress })) {
      run.damage?.push(...read.damage);
      for (const line of read.lines) {
        await fetchOriginals({ deps: run.deps, offloads: run.laterFacts.offloads, current, mask }, line.entry);
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

/** Fetches the originals of this entry's results and drops those of the previous entry. */
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
