import type { Block } from "../schema/block.ts";
import { type EntryId, type Tokens, tokens, type ToolUseId } from "../schema/brand.ts";
import type { Receipt, ReceiptClass, ReceiptFigures, ReceiptLine, ReceiptPrice } from "../schema/receipt.ts";

/** What a view shows, entry by entry in order. Blocks are immutable, so a snapshot stays valid after later appends. */
export type ShownBlocks = ReadonlyMap<EntryId, readonly Block[]>;

export function groupByEntry(blocks: Iterable<{ readonly block: Block; readonly entry: EntryId }>): ShownBlocks {
  const shown = new Map<EntryId, Block[]>();
  for (const { block, entry } of blocks) {
    const known = shown.get(entry);
    if (known === undefined) shown.set(entry, [block]);
    else known.push(block);
  }
  return shown;
}

export interface ReceiptInput {
  readonly edits: readonly EntryId[];
  readonly cause: string;
  /** `summarised`: a summary or stand-in replaces what disappears. `undone`: what changes comes back. */
  readonly nature: "reduced" | "summarised" | "undone";
  readonly before: ShownBlocks;
  readonly after: ShownBlocks;
  /** An estimate. */
  readonly count: (block: Block) => Tokens;
  /** The provider's count of what `before` shows. Undefined if it has not counted: then the receipt has estimates. */
  readonly countedTokens?: number | undefined;
  /** Results that are shown but not counted, because the server withholds them. */
  readonly withheld?: ReadonlySet<ToolUseId>;
  readonly rates: { readonly write: number; readonly read: number };
  readonly because?: string | undefined;
  readonly figures?: ReceiptFigures | undefined;
  /** The planner's figures, if there was a planner: it knows the provider's counts and what the cache still holds. */
  readonly planned?: PlannedChange | undefined;
}

interface PlannedChange {
  readonly removesTokens: number;
  /** Tokens after the first change, and those before it that the cache does not hold. */
  readonly behindTokens: number;
  /** `cold`: everything has to be written again anyway, except what the change removes. */
  readonly cache: "warm" | "cold";
  /** What making the change has already cost, in input tokens: the call for a summary. The change has to recover this too. */
  readonly paidCost?: number;
}

export function makeReceipt(unscaled: ReceiptInput): Receipt {
  const input = { ...unscaled, count: scaleCount(unscaled) };
  const lines: ReceiptLine[] = [];
  for (const entry of input.before.keys()) lines.push(toReceiptLine(entry, input));
  for (const entry of input.after.keys()) if (!input.before.has(entry)) lines.push(toReceiptLine(entry, input));
  const tokensBefore = sumLines(lines, "tokensBefore");
  const tokensAfter = sumLines(lines, "tokensAfter");
  const tokensBehind = tokensBehindChange(input);
  const { edits, cause, because, figures, rates } = input;
  const change = input.planned ?? {
    removesTokens: tokensBefore - tokensAfter,
    behindTokens: tokensBehind,
    cache: "warm",
  };
  const price = priceChange(change, rates);
  const reason = { ...(because === undefined ? {} : { because }), ...(figures === undefined ? {} : { figures }) };
  return { edits, cause, ...reason, lines, tokensBefore, tokensAfter, tokensBehind, price };
}

/** Scales the estimate to the provider's count, so that a receipt has the same scale as its reason. */
function scaleCount({ count, before, countedTokens, withheld }: ReceiptInput): ReceiptInput["count"] {
  if (countedTokens === undefined || countedTokens <= 0) return count;
  const isCounted = (block: Block): boolean =>
    block.type !== "tool_result" || withheld?.has(block.tool_use_id) !== true;
  let estimate = 0;
  for (const blocks of before.values()) for (const block of blocks) if (isCounted(block)) estimate += count(block);
  return (block) => tokens(Math.round((count(block) * countedTokens) / Math.max(1, estimate)));
}

function toReceiptLine(entry: EntryId, input: ReceiptInput): ReceiptLine {
  const before = input.before.get(entry);
  const after = input.after.get(entry);
  const tokensBefore = countBlocks(before ?? [], input.count);
  return {
    entry,
    class: classifyChange(before, after, input.nature),
    tokensBefore,
    tokensAfter: after === before ? tokensBefore : countBlocks(after ?? [], input.count),
  };
}

function classifyChange(
  before: readonly Block[] | undefined,
  after: readonly Block[] | undefined,
  nature: ReceiptInput["nature"],
): ReceiptClass {
  if (before === undefined) return nature === "undone" ? "restored" : "added";
  if (after === undefined) return nature === "summarised" ? "summarised" : "dropped";
  if (sameBlocks(before, after)) return "kept";
  return nature === "undone" ? "restored" : "stubbed";
}

const sameBlocks = (left: readonly Block[], right: readonly Block[]): boolean =>
  left === right || (left.length === right.length && left.every((block, at) => sameBlock(block, right[at])));

/** Tokens of the new view from the first entry on that differs from the old one. */
function tokensBehindChange({ before, after, count }: ReceiptInput): Tokens {
  const entries = before.keys();
  let same = true;
  let behind = 0;
  for (const [entry, blocks] of after) {
    same &&= entries.next().value === entry && sameBlocks(before.get(entry) ?? [], blocks);
    if (!same) behind += countBlocks(blocks, count);
  }
  return tokens(behind);
}

function priceChange(
  { removesTokens, behindTokens, cache, paidCost = 0 }: PlannedChange,
  { write, read }: ReceiptInput["rates"],
): ReceiptPrice {
  const rewriteCost = cache === "cold" ? 0 : (write - read) * behindTokens;
  const now = rewriteCost - (cache === "cold" ? write : read) * removesTokens;
  const perRound = read * removesTokens;
  const base = { writeRate: write, readRate: read, now, perRound };
  return perRound <= 0 ? base : { ...base, breakEvenRounds: Math.max(0, Math.ceil((now + paidCost) / perRound)) };
}

function countBlocks(blocks: readonly Block[], count: (block: Block) => Tokens): Tokens {
  let sum = 0;
  for (const block of blocks) sum += count(block);
  return tokens(sum);
}

const sumLines = (lines: readonly ReceiptLine[], key: "tokensBefore" | "tokensAfter"): Tokens =>
  tokens(lines.reduce((sum, line) => sum + line[key], 0));

/**
 * Without the per-entry lines: they can be recomputed from the log, and storing them would make the log grow with what
 * it covers.
 */
export function receiptTotals({
  lines,
  cause,
  because,
  figures,
  tokensBefore,
  tokensAfter,
  tokensBehind,
  price,
}: Receipt): object {
  const entries = Object.fromEntries(
    [...Map.groupBy(lines, (line) => line.class)].map(([name, linesOfClass]) => [name, linesOfClass.length]),
  );
  return { cause, because, figures, tokensBefore, tokensAfter, tokensBehind, price, entries };
}

interface CountableView {
  readonly shown: ShownBlocks;
  /** The inventory's counter. */
  readonly count: (block: Block) => number;
}

/** Tokens that the view shows before this entry; of the whole view if it does not show the entry. */
export function countTokensBefore({ shown, count }: CountableView, entry: EntryId): number {
  let sum = 0;
  for (const [current, blocks] of shown) {
    if (current === entry) break;
    for (const block of blocks) sum += count(block);
  }
  return sum;
}

/** The first entry that has at least this many tokens before it in the view; undefined if there is none. */
export function findEntryAfterTokens({ shown, count }: CountableView, tokensBefore: number): EntryId | undefined {
  let sum = 0;
  for (const [entry, blocks] of shown) {
    if (sum >= tokensBefore) return entry;
    for (const block of blocks) sum += count(block);
  }
  return undefined;
}

/** Whether two blocks have the same bytes. Blocks of a view stay the same objects until a change of structure recreates some. */
export const sameBlock = (left: Block, right: Block | undefined): boolean =>
  left === right ||
  (right !== undefined && !differInText(left, right) && JSON.stringify(left) === JSON.stringify(right));

/** Avoids serialising: nearly all blocks that differ are a result and its marker. */
function differInText(left: Block, right: Block): boolean {
  if (left.type !== right.type) return true;
  if (left.type !== "tool_result" || right.type !== "tool_result") return false;
  return typeof left.content === "string" && typeof right.content === "string" && left.content !== right.content;
}
