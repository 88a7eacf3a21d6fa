import type { Block } from "../schema/block.ts";
import { type EntryId, type Tokens, tokens } from "../schema/brand.ts";
import type { Receipt, ReceiptClass, ReceiptLine, ReceiptPrice } from "../schema/receipt.ts";
import { sameBlock } from "./same-block.ts";

/** What a view shows, entry by entry in order. Blocks are frozen values, so a snapshot outlives later appends. */
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
  /** `summarised`: what disappears is spoken for by a summary or stand-in. `undone`: what changes comes back. */
  readonly nature: "reduced" | "summarised" | "undone";
  readonly before: ShownBlocks;
  readonly after: ShownBlocks;
  readonly count: (block: Block) => Tokens;
  readonly rates: { readonly write: number; readonly read: number };
  readonly because?: string | undefined;
  /** What the planner reckoned with, where there was one: it knows the provider's counts and what the cache still holds. */
  readonly planned?: PlannedChange | undefined;
}

interface PlannedChange {
  readonly removesTokens: number;
  /** Behind the first change, and before it as far as the cache does not hold it. */
  readonly behindTokens: number;
  /** `cold`: everything is written again in any case, so what goes need not be. */
  readonly cache: "warm" | "cold";
  /** What making the change has cost already, in input tokens: the call for a summary. It has to pay for itself too. */
  readonly paidCost?: number;
}

export function makeReceipt(input: ReceiptInput): Receipt {
  const lines: ReceiptLine[] = [];
  for (const entry of input.before.keys()) lines.push(toReceiptLine(entry, input));
  for (const entry of input.after.keys()) if (!input.before.has(entry)) lines.push(toReceiptLine(entry, input));
  const tokensBefore = sumLines(lines, "tokensBefore");
  const tokensAfter = sumLines(lines, "tokensAfter");
  const tokensBehind = tokensBehindChange(input);
  const { edits, cause, because, rates } = input;
  const change = input.planned ?? {
    removesTokens: tokensBefore - tokensAfter,
    behindTokens: tokensBehind,
    cache: "warm",
  };
  const price = priceChange(change, rates);
  const said = because === undefined ? {} : { because };
  return { edits, cause, ...said, lines, tokensBefore, tokensAfter, tokensBehind, price };
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

const sameBlocks = (one: readonly Block[], other: readonly Block[]): boolean =>
  one === other || (one.length === other.length && one.every((block, at) => sameBlock(block, other[at])));

/** Tokens of the new view from the first place on where it differs from the old one. */
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
  const again = cache === "cold" ? 0 : (write - read) * behindTokens;
  const now = again - (cache === "cold" ? write : read) * removesTokens;
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

/** Per-entry lines can be had again from the log; storing them would make the log grow with what it covers. */
export function receiptTotals({
  lines,
  cause,
  because,
  tokensBefore,
  tokensAfter,
  tokensBehind,
  price,
}: Receipt): object {
  const entries = Object.fromEntries(
    [...Map.groupBy(lines, (line) => line.class)].map(([name, of]) => [name, of.length]),
  );
  return { cause, because, tokensBefore, tokensAfter, tokensBehind, price, entries };
}

interface CountableView {
  readonly shown: ShownBlocks;
  /** The inventory's. */
  readonly count: (block: Block) => number;
}

/** Tokens of what the view shows before this entry; of all of it where it shows nothing of the entry. */
export function countTokensBefore({ shown, count }: CountableView, entry: EntryId): number {
  let sum = 0;
  for (const [one, blocks] of shown) {
    if (one === entry) break;
    for (const block of blocks) sum += count(block);
  }
  return sum;
}

/** The first entry of which the view shows nothing before so many tokens; undefined where there is none. */
export function findEntryAfterTokens({ shown, count }: CountableView, tokensBefore: number): EntryId | undefined {
  let sum = 0;
  for (const [entry, blocks] of shown) {
    if (sum >= tokensBefore) return entry;
    for (const block of blocks) sum += count(block);
  }
  return undefined;
}
