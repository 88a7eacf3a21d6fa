import { type ClearInput, inventoryScale } from "./clear-price.ts";
import {
  compactOutputTokensDefault,
  restoredTokensDefault,
  restoredWindowShareDefault,
  summaryTokensDefault,
  summaryWindowShareDefault,
} from "./limits.ts";
import type { CacheRates } from "./cache-rates.ts";

/** What compacting now would take: reading the context, the summary's output, and writing what stands in its place. */
export interface CompactPrice {
  readonly readCost: number;
  readonly outputCost: number;
  readonly writeCost: number;
  /** For what summaries lose. */
  readonly lossCost: number;
  readonly total: number;
  readonly removesTokens: number;
}

interface CompactPriceInput {
  readonly rates: CacheRates;
  readonly contextTokens: number;
  readonly fixedTokens: number;
  /** Of the context, what the cache would give to the summary's call. */
  readonly cachedTokens: number;
  /** Of the summary and what is restored with it. */
  readonly leavesTokens: number;
  readonly outputTokens: number;
  readonly lossCost: number;
}

export function priceCompact(input: CompactPriceInput): CompactPrice {
  const { rates, contextTokens, fixedTokens, cachedTokens, leavesTokens, outputTokens, lossCost } = input;
  const readCost = rates.read * cachedTokens + (contextTokens - cachedTokens);
  const outputCost = rates.output * outputTokens;
  const writeCost = (rates.write - rates.read) * leavesTokens;
  const removesTokens = Math.max(0, contextTokens - fixedTokens - leavesTokens);
  return {
    readCost,
    outputCost,
    writeCost,
    lossCost,
    total: readCost + outputCost + writeCost + lossCost,
    removesTokens,
  };
}

/** What a compaction writes, and what it leaves of its own: summary and restored state. */
export interface CompactSize {
  readonly outputTokens: number;
  readonly leavesTokens: number;
}

/** As it is taken to be as long as there was none to go by. */
export function defaultCompactSize({ restores, windowTokens }: DefaultSizeInput): CompactSize {
  const within = (tokens: number, share: number): number => Math.floor(Math.min(tokens, windowTokens * share));
  const summary = within(summaryTokensDefault, summaryWindowShareDefault);
  const restored = restores === "files" ? within(restoredTokensDefault, restoredWindowShareDefault) : 0;
  return {
    outputTokens: within(compactOutputTokensDefault, summaryWindowShareDefault),
    leavesTokens: summary + restored,
  };
}

interface DefaultSizeInput {
  readonly restores: "nothing" | "files";
  /** Infinite: no limit. */
  readonly windowTokens: number;
}

/** Of the whole request as it would be now, what the cache would give to a fork of it: the fixed part too, as long as anything lives. */
export function readableTokens(input: Pick<ClearInput, "inventory" | "prefixes" | "moment">): number {
  const { prefixes, moment } = input;
  if (prefixes.isCold(moment.at)) return 0;
  const shown = prefixes.upTo(Infinity, moment.at) * inventoryScale(input);
  return Math.min(moment.contextTokens, moment.fixedTokens + shown);
}

/** Rent on what a compaction would remove, accrued round by round since the last one. */
export class CompactRent {
  #accrued = 0;

  get accrued(): number {
    return this.#accrued;
  }

  /** A request was sent that held so many tokens more than a compaction would leave. */
  accrue({ rates, removableTokens }: { readonly rates: CacheRates; readonly removableTokens: number }): void {
    this.#accrued += rates.read * Math.max(0, removableTokens);
  }

  reset(): void {
    this.#accrued = 0;
  }
}
