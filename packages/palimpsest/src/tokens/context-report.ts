import type { Block, ToolUseBlock } from "../schema/block.ts";
import { type EntryId, tokens, type Tokens, type ToolUseId } from "../schema/brand.ts";
import type { Fold } from "../transcript/fold.ts";
import { tokensFromBytes } from "./estimate-block.ts";
import { type DeferredTools, fixedKinds } from "./fixed-part.ts";
import type { ContextLedger, ContextSize, DoubtedCounter, DoubtedUsage } from "./token-ledger.ts";
import { type Pressure, computePressure, type Thresholds } from "./thresholds.ts";
import { fileAction, callFilePath } from "./tool-kind.ts";

/** used + free + reserve = window, to the token; the categories sum to used. A view over its window has negative free space. */
export interface ContextReport {
  readonly window: Tokens;
  readonly used: Tokens;
  readonly free: Tokens;
  /** Kept for the reply and for compaction to happen in time. */
  readonly reserve: Tokens;
  readonly size: ContextSize;
  readonly categories: readonly Category[];
  readonly fixedPart: FixedPartReport;
  /** Beside the window, so in no category. */
  readonly deferred: DeferredTools;
  readonly pressure: Pressure;
  readonly thresholds: Thresholds;
  readonly largest: readonly LargeItem[];
  readonly reads: FileReads;
  /** The newest count of the provider that is not believed. */
  readonly doubtedUsage: DoubtedUsage | undefined;
  /** What the caller's tokenizer says, if that is not believed. */
  readonly doubtedCounter: DoubtedCounter | undefined;
}

interface Category {
  readonly name: string;
  readonly tokens: Tokens;
  /** Rounded share of what is used. */
  readonly percent: number;
  /** Blocks of the view; of the fixed part texts, files or definitions, and 0 where nobody knows. */
  readonly blocks: number;
}

interface FixedPartReport {
  /** Sum of its categories. */
  readonly tokens: Tokens;
  /** `usage`, `estimate` or a counter's name: where its size comes from. */
  readonly countedBy: string;
  /** `estimate` or a counter's name: what tells its pieces apart. */
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
      tokens: tokens(categories.reduce((sum, one) => sum + (fixedCategories.has(one.name) ? one.tokens : 0), 0)),
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
 * The fixed part is what the ledger takes it for, or more: what no block explains. Blocks that explain too much shrink
 * alike, into what the fixed part leaves. Its known pieces take their share of it, and the rest stays `system`; pieces
 * that explain too much shrink alike, into what the blocks leave.
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
  return all
    .toSorted((one, other) => other.tokens - one.tokens)
    .map((part) => ({
      ...part,
      tokens: tokens(part.tokens),
      percent: used === 0 ? 0 : Math.round((part.tokens / used) * 100),
    }));
}

/** How far the view's categories were shrunk. What stands in them shrinks alike: no item is larger than its category. */
function viewScale(categories: readonly Category[], ledger: ContextLedger): number {
  const pairs = categories.flatMap(({ name, tokens: shown }) => {
    const own = ledger.categories.get(name);
    return own === undefined ? [] : [{ shown, size: tokensFromBytes(own.bytes, ledger.rates) }];
  });
  const shown = pairs.reduce((sum, pair) => sum + pair.shown, 0);
  const size = pairs.reduce((sum, pair) => sum + pair.size, 0);
  if (size === 0 || pairs.every((pair) => pair.size <= pair.shown)) return 1;
  // One category may hold what rounding left over, at most a token for each: that is nobody's size.
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

/** As they are where there is room for all of them, else shrunk in proportion until they fill it. */
function fitToRoom(sized: readonly SizedCategory[], room: number): CategoryPart[] {
  const sum = sized.reduce((total, { size }) => total + size, 0);
  const scale = sum > room ? room / sum : 1;
  const parts = sized.map(({ name, blocks, size }) => ({ name, blocks, tokens: Math.floor(size * scale) }));
  return sum > room ? withRest(parts, room - sumTokens(parts)) : parts;
}

/** What rounding left over goes to the largest part. */
function withRest(parts: readonly CategoryPart[], rest: number): CategoryPart[] {
  const largest = Math.max(...parts.map((part) => part.tokens));
  const at = parts.findIndex((part) => part.tokens === largest);
  return parts.map((part, place) => (place === at ? { ...part, tokens: part.tokens + rest } : part));
}

/** What of the fixed part is not known piece by piece: whatever a client sends without logging it. */
export const fixedCategory = "system";

const fixedCategories: ReadonlySet<string> = new Set([fixedCategory, ...fixedKinds]);

function rankBySize(blocks: readonly { entry: EntryId; block: Block }[], count: (block: Block) => Tokens): LargeItem[] {
  const names = new Map<string, string>();
  const items = blocks.map(({ entry, block }) => {
    if (block.type === "tool_use") names.set(block.id, block.name);
    return { entry, what: describeBlock(block, names), tokens: count(block) };
  });
  return items.toSorted((one, other) => other.tokens - one.tokens);
}

function describeBlock(block: Block, names: ReadonlyMap<string, string>): string {
  if (block.type === "tool_use") return `${block.name} request`;
  if (block.type === "tool_result") return `${names.get(block.tool_use_id) ?? "tool"} result ${block.tool_use_id}`;
  return block.type;
}

interface RepeatedRead {
  readonly path: string;
  readonly count: number;
  /** What one copy would not have cost: floor(total / count) × (count − 1). */
  readonly wasted: Tokens;
}

interface SupersededRead {
  readonly path: string;
  readonly toolUse: ToolUseId;
  readonly tokens: Tokens;
}

interface FileReads {
  /** Those that waste most come first. */
  readonly repeated: readonly RepeatedRead[];
  /** Reads of a file that was changed later and then read again: they show a version that is gone. */
  readonly superseded: readonly SupersededRead[];
}

/** Files that the view shows more than once. */
function fileReads(blocks: Iterable<Block>, count: (block: Block) => Tokens): FileReads {
  const calls = new Map<ToolUseId, { readonly path: string; readonly kind: "read" | "write"; readonly at: number }>();
  const reads = new Map<string, { readonly toolUse: ToolUseId; readonly tokens: Tokens; readonly at: number }[]>();
  const written = new Map<string, number[]>();
  let at = 0;
  for (const block of blocks) {
    at += 1;
    if (block.type === "tool_use") {
      const touched = findTouchedFile(block);
      if (touched === undefined) continue;
      calls.set(block.id, { ...touched, at });
      if (touched.kind === "write") pushTo(written, touched.path, at);
    } else if (block.type === "tool_result") {
      const call = calls.get(block.tool_use_id);
      if (call?.kind === "read")
        pushTo(reads, call.path, { toolUse: block.tool_use_id, tokens: count(block), at: call.at });
    }
  }
  const found = [...reads];
  return {
    repeated: found
      .flatMap(([path, of]) => (of.length < 2 ? [] : [{ path, count: of.length, wasted: countWastedTokens(of) }]))
      .toSorted((one, other) => other.wasted - one.wasted),
    superseded: found.flatMap(([path, of]) => findSuperseded(path, of, written.get(path) ?? [])),
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

/** A read counts as superseded when a write lies between it and a later read of the same file. */
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
