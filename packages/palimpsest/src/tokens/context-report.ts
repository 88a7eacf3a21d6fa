import type { Block, ToolUseBlock } from "../schema/block.ts";
import { type EntryId, tokens, type Tokens, type ToolUseId } from "../schema/brand.ts";
import type { Fold } from "../transcript/fold.ts";
import { tokensFromBytes } from "./estimate-block.ts";
import { type DeferredTools, fixedKinds } from "./fixed-part.ts";
import type { ContextLedger, ContextSize, DoubtedCounter, DoubtedUsage } from "./token-ledger.ts";
import { type Pressure, computePressure, type Thresholds } from "./thresholds.ts";
import { fileAction, callFilePath } from "./tool-kind.ts";

/** used + free + reserve = window, to the token; the categories sum to used. If the view exceeds its window, free is negative. */
export interface ContextReport {
  readonly window: Tokens;
  readonly used: Tokens;
  readonly free: Tokens;
  /** Kept free for the reply and so that compaction happens in time. */
  readonly reserve: Tokens;
  readonly size: ContextSize;
  readonly categories: readonly Category[];
  readonly fixedPart: FixedPartReport;
  /** Not in the window, so in no category. */
  readonly deferred: DeferredTools;
  readonly pressure: Pressure;
  readonly thresholds: Thresholds;
  readonly largest: readonly LargeItem[];
  readonly reads: FileReads;
  /** The newest count of the provider that is not believed. */
  readonly doubtedUsage: DoubtedUsage | undefined;
  /** The count of the caller's tokenizer, if it is not believed. */
  readonly doubtedCounter: DoubtedCounter | undefined;
}

interface Category {
  readonly name: string;
  readonly tokens: Tokens;
  /** Rounded share of `used`. */
  readonly percent: number;
  /** Number of blocks of the view; in the fixed part, number of texts, files or definitions, or 0 if unknown. */
  readonly blocks: number;
}

interface FixedPartReport {
  /** Sum of its categories. */
  readonly tokens: Tokens;
  /** Source of its size: `usage`, `estimate` or a counter's name. */
  readonly countedBy: string;
  /** Source of the sizes of its pieces: `estimate` or a counter's name. */
  readonly piecesBy: string;
}

export interface LargeItem {
  readonly entry: EntryId;
  readonly what: string;
  readonly tokens: Tokens;
}

export interface ReportInputs {
  readonly fold: Fold;
  readonly ledger: ContextLedger;
  readonly thresholds: Thresholds;
  readonly autoCompact: "on" | "off";
  readonly largestMax?: number;
}

export function contextReport({ fold, ledger, thresholds, autoCompact, largestMax = 8 }: ReportInputs): ContextReport {
  const { size, counter } = ledger;
  const used = size.tokens;
  const wanted = thresholds.window - thresholds.limit;
  const reserve = tokens(Math.max(0, Math.min(wanted, thresholds.window - used)));
  const categories = computeCategories(ledger, used);
  const scale = viewScale(categories, ledger);
  const count = (block: Block): Tokens => tokens(Math.floor(counter(block) * scale));
  const blocks = [...fold.shown()].flatMap(([entry, shown]) => shown.map((block) => ({ entry, block })));
  return {
    window: thresholds.window,
    used,
    free: tokens(thresholds.window - used - reserve),
    reserve,
    size,
    categories,
    fixedPart: {
      tokens: tokens(categories.reduce((sum, part) => sum + (fixedCategories.has(part.name) ? part.tokens : 0), 0)),
      countedBy: ledger.fixedCountedBy,
      piecesBy: ledger.knownFixed.counter,
    },
    deferred: ledger.knownFixed.deferred,
    pressure: computePressure(used, thresholds, autoCompact),
    thresholds,
    largest: rankBySize(blocks, count).slice(0, largestMax),
    reads: fileReads(
      blocks.map(({ block }) => block),
      count,
    ),
    doubtedUsage: ledger.doubtedUsage,
    doubtedCounter: ledger.doubtedCounter,
  };
}

/**
 * The fixed part has the size that the ledger says, or more if the blocks do not account for everything. If the blocks
 * add up to too much, they shrink in proportion into what the fixed part leaves. Its known pieces take their share of
 * it, and the rest is `system`; if the pieces add up to too much, they shrink in proportion into what the blocks leave.
 */
function computeCategories(ledger: ContextLedger, used: Tokens): Category[] {
  const estimated = [...ledger.categories].map(([name, { bytes, blocks }]) => ({
    name,
    blocks,
    size: tokensFromBytes(bytes, ledger.rates),
  }));
  const ofView = fitToRoom(estimated, used - Math.min(ledger.fixedTokens, used));
  const known = ledger.knownFixed.pieces.map(({ kind, count, tokens: size }) => ({ name: kind, blocks: count, size }));
  const parts = [...ofView, ...fitToRoom(known, used - sumTokens(ofView))];
  const rest = used - sumTokens(parts);
  const all =
    rest > parts.length ? [...parts, { name: fixedCategory, blocks: 0, tokens: rest }] : withRest(parts, rest);
  return all.toSorted(byTokensDescending).map((part) => ({
    ...part,
    tokens: tokens(part.tokens),
    percent: used === 0 ? 0 : Math.round((part.tokens / used) * 100),
  }));
}

const byTokensDescending = (left: { readonly tokens: number }, right: { readonly tokens: number }): number =>
  right.tokens - left.tokens;

/** How far the view's categories were shrunk. Their items shrink alike, so that no item is larger than its category. */
function viewScale(categories: readonly Category[], ledger: ContextLedger): number {
  const pairs = categories.flatMap(({ name, tokens: shown }) => {
    const category = ledger.categories.get(name);
    return category === undefined ? [] : [{ shown, size: tokensFromBytes(category.bytes, ledger.rates) }];
  });
  const shown = pairs.reduce((sum, pair) => sum + pair.shown, 0);
  const size = pairs.reduce((sum, pair) => sum + pair.size, 0);
  if (size === 0 || pairs.every((pair) => pair.size <= pair.shown)) return 1;
  // One category may contain the rounding remainder, at most one token per category, which belongs to no item.
  const scales = [shown / size, Math.max(0, shown - categories.length) / size];
  return scales.find((scale) => pairs.every((pair) => Math.floor(pair.size * scale) <= pair.shown)) ?? 0;
}

interface SizedCategory {
  readonly name: string;
  readonly blocks: number;
  readonly size: number;
}

interface CategoryPart {
  readonly name: string;
  readonly blocks: number;
  readonly tokens: number;
}

const sumTokens = (parts: readonly CategoryPart[]): number => parts.reduce((total, part) => total + part.tokens, 0);

/** Unchanged if all of them fit, otherwise shrunk in proportion until they fill the room. */
function fitToRoom(sized: readonly SizedCategory[], room: number): CategoryPart[] {
  const sum = sized.reduce((total, { size }) => total + size, 0);
  const scale = sum > room ? room / sum : 1;
  const parts = sized.map(({ name, blocks, size }) => ({ name, blocks, tokens: Math.floor(size * scale) }));
  return sum > room ? withRest(parts, room - sumTokens(parts)) : parts;
}

/** Adds the rounding remainder to the largest part. */
function withRest(parts: readonly CategoryPart[], rest: number): CategoryPart[] {
  const largest = Math.max(...parts.map((part) => part.tokens));
  const at = parts.findIndex((part) => part.tokens === largest);
  return parts.map((part, index) => (index === at ? { ...part, tokens: part.tokens + rest } : part));
}

/** The rest of the fixed part, besides its known pieces: whatever a client sends without logging it. */
export const fixedCategory = "system";

const fixedCategories: ReadonlySet<string> = new Set([fixedCategory, ...fixedKinds]);

function rankBySize(blocks: readonly { entry: EntryId; block: Block }[], count: (block: Block) => Tokens): LargeItem[] {
  const names = new Map<string, string>();
  const items = blocks.map(({ entry, block }) => {
    if (block.type === "tool_use") names.set(block.id, block.name);
    return { entry, what: describeBlock(block, names), tokens: count(block) };
  });
  return items.toSorted(byTokensDescending);
}

function describeBlock(block: Block, names: ReadonlyMap<string, string>): string {
  if (block.type === "tool_use") return `${block.name} request`;
  if (block.type === "tool_result") return `${names.get(block.tool_use_id) ?? "tool"} result ${block.tool_use_id}`;
  return block.type;
}

interface RepeatedRead {
  readonly path: string;
  readonly count: number;
  /** Cost beyond that of a single copy: floor(total / count) × (count − 1). */
  readonly wasted: Tokens;
}

interface SupersededRead {
  readonly path: string;
  readonly toolUse: ToolUseId;
  readonly tokens: Tokens;
}

interface FileReads {
  /** The most wasteful first. */
  readonly repeated: readonly RepeatedRead[];
  /** Reads of a file that was changed later and then read again: they show an outdated version. */
  readonly superseded: readonly SupersededRead[];
}

/** Files that the view shows more than once. */
function fileReads(blocks: Iterable<Block>, count: (block: Block) => Tokens): FileReads {
  const calls = new Map<ToolUseId, { readonly path: string; readonly kind: "read" | "write"; readonly at: number }>();
  const readsByPath = new Map<string, FileRead[]>();
  const writesByPath = new Map<string, number[]>();
  let at = 0;
  for (const block of blocks) {
    at += 1;
    if (block.type === "tool_use") {
      const touched = findTouchedFile(block);
      if (touched === undefined) continue;
      calls.set(block.id, { ...touched, at });
      if (touched.kind === "write") pushTo(writesByPath, touched.path, at);
    } else if (block.type === "tool_result") {
      const call = calls.get(block.tool_use_id);
      if (call?.kind === "read")
        pushTo(readsByPath, call.path, { toolUse: block.tool_use_id, tokens: count(block), at: call.at });
    }
  }
  const files = [...readsByPath];
  return {
    repeated: files
      .flatMap(([path, reads]) =>
        reads.length < 2 ? [] : [{ path, count: reads.length, wasted: countWastedTokens(reads) }],
      )
      .toSorted((left, right) => right.wasted - left.wasted),
    superseded: files.flatMap(([path, reads]) => findSuperseded(path, reads, writesByPath.get(path) ?? [])),
  };
}

function findTouchedFile(block: ToolUseBlock): { path: string; kind: "read" | "write" } | undefined {
  const kind = fileAction(block.name);
  const path = callFilePath(block);
  return kind === undefined || path === undefined ? undefined : { path, kind };
}

const countWastedTokens = (reads: readonly { readonly tokens: Tokens }[]): Tokens => {
  const total = reads.reduce((sum, read) => sum + read.tokens, 0);
  return tokens(Math.floor(total / reads.length) * (reads.length - 1));
};

interface FileRead {
  readonly toolUse: ToolUseId;
  readonly tokens: Tokens;
  readonly at: number;
}

/** A read is superseded if a write lies between it and a later read of the same file. */
function findSuperseded(path: string, reads: readonly FileRead[], writes: readonly number[]): SupersededRead[] {
  const last = reads.at(-1);
  if (last === undefined) return [];
  return reads
    .filter((read) => writes.some((write) => write > read.at && write < last.at))
    .map(({ toolUse, tokens: size }) => ({ path, toolUse, tokens: size }));
}

function pushTo<Key, Value>(into: Map<Key, Value[]>, key: Key, value: Value): void {
  const known = into.get(key);
  if (known === undefined) into.set(key, [value]);
  else known.push(value);
}
