import type { CachedPrefixes, CacheState } from "../cache/cached-prefixes.ts";
import type { ClearMoment, ClearPrice, PriceRule } from "../cache/clear-price.ts";
import type { CompactPrice } from "../cache/compact-price.ts";
import type { ReceiptFigures } from "../schema/receipt.ts";
import { formatCount, plural } from "../text/format-count.ts";
import { formatDollars } from "../text/format-dollars.ts";
import { reasonRequests } from "./limits.ts";

/*
 * Why an edit is made: one sentence for the user, in tokens and, if the model's price is known, in money. Every place
 * that shows a reason shows this sentence. The arithmetic behind it goes into the receipt as figures.
 */

type ReasonMoment = Pick<ClearMoment, "rates" | "inputTokenUsd">;

interface RemovalInput {
  readonly removesTokens: number;
  /** What the tokens belong to: `3 results`. */
  readonly of: string;
}

/** `keeps 2,600 tokens of 3 results out of each request, about $0.01 over the next 20` */
export function explainRemoval({ removesTokens, of }: RemovalInput, moment: ReasonMoment): string {
  return keepsOut(`${formatTokens(removesTokens)} of ${of}`, {
    savedCost: reasonRequests * moment.rates.read * removesTokens,
    moment,
  });
}

interface ColdRemovalInput extends RemovalInput {
  readonly cache: CacheState;
}

/** For a clear of what is not in the cache, so that the next request writes it anyway. */
export function explainColdRemoval({ removesTokens, of, cache }: ColdRemovalInput, moment: ReasonMoment): string {
  const { write, read } = moment.rates;
  const savedCost = (write + (reasonRequests - 1) * read) * removesTokens;
  const what = `${formatTokens(removesTokens)} of ${of}`;
  return `${reasonByCache[cache]}: ${keepsOut(what, { savedCost, moment })}`;
}

const reasonByCache: Readonly<Record<CacheState, string>> = {
  expired: "the cache is cold, so this costs nothing now",
  // After a change of branch, or behind the last mark.
  live: "none of this is in the cache, so this costs nothing now",
  unknown: "none of this is known to be in the cache",
};

interface ExplainClearInput {
  readonly moment: ClearMoment;
  readonly prefixes: Pick<CachedPrefixes, "state">;
}

export function explainClear(price: ClearPrice, { moment, prefixes }: ExplainClearInput): string {
  const { why, removesTokens, results, behindTokens, againCost } = price;
  const removal = { removesTokens, of: formatResults(results.length) };
  const fetchCost = moment.rates.write * removesTokens + moment.rates.read * moment.contextTokens;
  const fetched = formatCost(fetchCost, moment);
  const them = results.length === 1 ? "it" : "them";
  const again = fetched === undefined ? "" : `; reading ${them} again would cost ${fetched}`;
  if (why === "cold") return `${explainColdRemoval({ ...removal, cache: prefixes.state(moment.at) }, moment)}${again}`;
  // What the coming request writes again, less what it no longer reads: the same as in the receipt's price.
  const now = formatCost(Math.max(0, againCost - moment.rates.read * removesTokens), moment);
  const paid =
    now === undefined
      ? `; ${formatTokens(behindTokens)} behind ${them} are written to the cache again`
      : `, for ${now} now`;
  return `${why === "forced" ? "makes room: " : ""}${explainRemoval(removal, moment)}${paid}${again}`;
}

/** A compaction that is made because it pays. */
export function explainCompaction({ removesTokens, ...price }: CompactPrice, moment: ReasonMoment): string {
  const savedCost = reasonRequests * moment.rates.read * removesTokens;
  const summary = `a summary ${keepsOut(`about ${formatTokens(removesTokens)}`, { savedCost, moment })}`;
  const now = formatCost(compactionNowCost(price), moment);
  return now === undefined
    ? `${summary}; carrying them has cost more by now than making it does`
    : `${summary}, for ${now} now`;
}

export const explainThreshold = (usedTokens: number, threshold: number): string =>
  `the context has ${formatTokens(usedTokens)} and is compacted from ${formatTokenCount(threshold)} on`;

export const explainLimit = (usedTokens: number, limit: number): string =>
  `the context has ${formatTokens(usedTokens)}, and no request can be sent from ${formatTokenCount(limit)} on`;

/** What the provider charges for a compaction, in input tokens: without what the summary loses. */
export const compactionNowCost = ({
  readCost,
  outputCost,
  writeCost,
}: Pick<CompactPrice, "readCost" | "outputCost" | "writeCost">): number => readCost + outputCost + writeCost;

export const clearFigures = (price: ClearPrice, { horizonRounds }: PriceRule): ReceiptFigures =>
  roundFigures({
    removesTokens: price.removesTokens,
    behindTokens: price.behindTokens,
    rent: price.rentCost,
    neededRent: price.neededRent,
    again: price.againCost,
    risk: price.riskCost,
    savedPerRound: price.savedPerRound,
    horizonRounds,
  });

export const compactionFigures = (
  price: CompactPrice,
  { rent, neededRent }: { readonly rent: number; readonly neededRent: number },
): ReceiptFigures =>
  roundFigures({
    removesTokens: price.removesTokens,
    rent,
    neededRent,
    read: price.readCost,
    output: price.outputCost,
    write: price.writeCost,
    loss: price.lossCost,
    savedNext: price.savesNext,
  });

const roundFigures = (figures: ReceiptFigures): ReceiptFigures =>
  Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, Math.round(value)]));

/** `1 result`, `2 results`. */
export const formatResults = (count: number): string => `${formatCount(count)} ${plural(count, "result")}`;

const formatTokenCount = (count: number): string => formatCount(Math.round(count));

export const formatTokens = (count: number): string =>
  `${formatTokenCount(count)} ${plural(Math.round(count), "token")}`;

function keepsOut(
  what: string,
  { savedCost, moment }: { readonly savedCost: number; readonly moment: ReasonMoment },
): string {
  const saved = formatCost(savedCost, moment);
  return `keeps ${what} out of each request${saved === undefined ? "" : `, about ${saved} over the next ${reasonRequests}`}`;
}

/** Undefined if the model's price is not known. */
const formatCost = (inputTokens: number, { inputTokenUsd }: ReasonMoment): string | undefined =>
  inputTokenUsd === undefined ? undefined : formatDollars(inputTokens * inputTokenUsd);
