import { type ClearInput, inventoryScale } from "./clear-price.ts";
import {
  compactOutputTokensDefault,
  restoredTokensDefault,
  restoredWindowShareDefault,
  summaryTokensDefault,
  summaryWindowShareDefault,
} from "./limits.ts";
import type { CacheRates, CallRates } from "./cache-rates.ts";

/**
 * What compacting now would cost, compared with a conversation that is compacted already: reading the context, the
 * summary's output, and writing what replaces the context. On a cold cache that would be written in any case.
 */
export interface CompactPrice {
  readonly readCost: number;
  readonly outputCost: number;
  readonly writeCost: number;
  /** An estimate of what the summary's losses cost. */
  readonly lossCost: number;
  readonly total: number;
  readonly removesTokens: number;
  /** What the coming request saves: reading what is removed, or writing it again on a cold cache. */
  readonly savesNext: number;
}

interface CompactPriceInput {
  readonly rates: CacheRates;
  readonly contextTokens: number;
  readonly fixedTokens: number;
  readonly cache: "warm" | "cold";
  /** Tokens of the context that the summary's call would read from the cache. */
  readonly cachedTokens: number;
  /** The prices of the summary's call, if another model writes it. */
  readonly callRates?: CallRates | undefined;
  /** Tokens of the summary and what is restored with it. */
  readonly leavesTokens: number;
  readonly outputTokens: number;
  readonly lossCost: number;
}

export function priceCompact(input: CompactPriceInput): CompactPrice {
  const { rates, contextTokens, fixedTokens, cache, cachedTokens, leavesTokens, outputTokens, lossCost } = input;
  const { input: inputRate, output: outputRate } = input.callRates ?? { input: 1, output: rates.output };
  const isCold = cache === "cold";
  const readCost = rates.read * cachedTokens + inputRate * (contextTokens - cachedTokens);
  const outputCost = outputRate * outputTokens;
  const writeCost = isCold ? 0 : (rates.write - rates.read) * leavesTokens;
  const removesTokens = Math.max(0, contextTokens - fixedTokens - leavesTokens);
  return {
    readCost,
    outputCost,
    writeCost,
    lossCost,
    total: readCost + outputCost + writeCost + lossCost,
    removesTokens,
    savesNext: (isCold ? rates.write : rates.read) * removesTokens,
  };
}

/** What a compaction outputs, and what it leaves in the context: summary and restored state. */
export interface CompactSize {
  readonly outputTokens: number;
  readonly leavesTokens: number;
}

/** The size assumed before the first compaction. */
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
  /** `Infinity` means no limit. */
  readonly windowTokens: number;
}

/**
 * Tokens of the whole request that a fork of it would read from the cache now. They include the fixed part as long as
 * any prefix lives.
 */
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

  /** Call it when a request was sent that held so many tokens more than a compaction would leave. */
  accrue({ rates, removableTokens }: { readonly rates: CacheRates; readonly removableTokens: number }): void {
    this.#accrued += rates.read * Math.max(0, removableTokens);
  }

  reset(): void {
    this.#accrued = 0;
  }
}
