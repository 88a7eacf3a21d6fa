import type { CacheRates } from "./rates.ts";

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

export interface CompactInput {
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

export function priceCompact(input: CompactInput): CompactPrice {
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

/** Rent on what a compaction would remove, accrued round by round since the last one. */
export class CompactRent {
  #accrued = 0;

  get accrued(): number {
    return this.#accrued;
  }

  /** A request was sent that held so many tokens more than a compaction would leave. */
  paid({ rates, removableTokens }: { readonly rates: CacheRates; readonly removableTokens: number }): void {
    this.#accrued += rates.read * Math.max(0, removableTokens);
  }

  compacted(): void {
    this.#accrued = 0;
  }
}
