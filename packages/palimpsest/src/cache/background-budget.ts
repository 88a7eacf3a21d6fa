import { type Millis, millis, type NanoUsd, nanoUsd } from "../schema/brand.ts";
import type { Model } from "../schema/model.ts";
import { formatDollars } from "../text/format-dollars.ts";
import { priceTier } from "./cache-rates.ts";
import { type CostSource, nanosFor, toUsd } from "./cost-ledger.ts";
import { backgroundDayNanosMin, backgroundShareMax, backgroundWindowMs } from "./limits.ts";

/**
 * How much background work may cost: notes, extraction and dreams, which nobody waits for. With e as the estimate of what
 * is about to start, it starts if
 *
 *   background of seven days + e ≤ 5 % of the rest of seven days,  or  background of today + e ≤ $0.05
 */
const backgroundSources: ReadonlySet<CostSource> = new Set<CostSource>(["notes", "extraction", "dream"]);

/** One payment, or several of one source put together. */
export interface SpendEntry {
  readonly at: Millis;
  readonly source: CostSource;
  readonly nanos: NanoUsd;
}

interface SpendPair {
  /** Everything that is not background work: conversations, agents, summaries, recall. */
  readonly mainNanos: NanoUsd;
  readonly backgroundNanos: NanoUsd;
}

export interface SpendSums extends SpendPair {
  /** By UTC day: `2026-11-17`. */
  readonly byDay: ReadonlyMap<string, SpendPair>;
}

const nothing: SpendPair = { mainNanos: nanoUsd(0), backgroundNanos: nanoUsd(0) };
export const noSpend: SpendSums = { ...nothing, byDay: new Map() };

export const spendDay = (at: Millis): string => new Date(at).toISOString().slice(0, 10);

export function sumSpend(entries: Iterable<SpendEntry>, before: SpendSums = noSpend): SpendSums {
  let total: SpendPair = before;
  const byDay = new Map(before.byDay);
  for (const { at, source, nanos } of entries) {
    const paid = backgroundSources.has(source)
      ? { ...nothing, backgroundNanos: nanos }
      : { ...nothing, mainNanos: nanos };
    const day = spendDay(at);
    total = addPairs(total, paid);
    byDay.set(day, addPairs(byDay.get(day) ?? nothing, paid));
  }
  return { mainNanos: total.mainNanos, backgroundNanos: total.backgroundNanos, byDay };
}

export function addSums(one: SpendSums, other: SpendSums): SpendSums {
  const byDay = new Map(one.byDay);
  for (const [day, pair] of other.byDay) byDay.set(day, addPairs(byDay.get(day) ?? nothing, pair));
  return { ...addPairs(one, other), byDay };
}

/** Without the days before the one in which `at` is. */
export function dropDaysBefore(sums: SpendSums, at: Millis): SpendSums {
  const first = spendDay(at);
  const byDay = new Map([...sums.byDay].filter(([day]) => day >= first));
  return { ...[...byDay.values()].reduce(addPairs, nothing), byDay };
}

const addPairs = (one: SpendPair, other: SpendPair): SpendPair => ({
  mainNanos: nanoUsd(one.mainNanos + other.mainNanos),
  backgroundNanos: nanoUsd(one.backgroundNanos + other.backgroundNanos),
});

/** From when on money counts. */
export const budgetStart = (now: Millis): Millis => millis(now - backgroundWindowMs);

export interface BackgroundBudget extends SpendPair {
  /** What the last seven days allow, by what the rest has cost in them. */
  readonly allowedNanos: NanoUsd;
  readonly todayNanos: NanoUsd;
  /** What a day allows in any case. */
  readonly todayAllowedNanos: NanoUsd;
}

/** `spent`: since `budgetStart`. */
export function readBudget({ spent, now }: { readonly spent: SpendSums; readonly now: Millis }): BackgroundBudget {
  return {
    mainNanos: spent.mainNanos,
    backgroundNanos: spent.backgroundNanos,
    allowedNanos: nanoUsd(Math.floor(spent.mainNanos * backgroundShareMax)),
    todayNanos: (spent.byDay.get(spendDay(now)) ?? nothing).backgroundNanos,
    todayAllowedNanos: backgroundDayNanosMin,
  };
}

export type BudgetVerdict =
  | { readonly kind: "ok" }
  /** `message`: for the user. */
  | { readonly kind: "over"; readonly message: string; readonly budget: BackgroundBudget };

interface BudgetCheck {
  /** Since `budgetStart`. */
  readonly spent: SpendSums;
  /** What is about to be started will cost about this much. 0 if the model's price is not known: then nothing is counted either. */
  readonly estimateNanos: NanoUsd;
  readonly now: Millis;
}

export function checkBudget({ spent, estimateNanos, now }: BudgetCheck): BudgetVerdict {
  const budget = readBudget({ spent, now });
  const { backgroundNanos, allowedNanos, todayNanos, todayAllowedNanos } = budget;
  if (backgroundNanos + estimateNanos <= allowedNanos || todayNanos + estimateNanos <= todayAllowedNanos)
    return { kind: "ok" };
  return { kind: "over", message: overText(budget, estimateNanos), budget };
}

const overText = (
  { mainNanos, backgroundNanos, allowedNanos, todayNanos, todayAllowedNanos }: BackgroundBudget,
  estimateNanos: NanoUsd,
): string =>
  [
    "Background memory work is paused.",
    `In the last seven days it has cost ${formatNanos(backgroundNanos)} of the ${formatNanos(allowedNanos)} allowed`,
    `(${backgroundShareMax * 100}% of the ${formatNanos(mainNanos)} that everything else cost),`,
    `today ${formatNanos(todayNanos)} of the ${formatNanos(todayAllowedNanos)} that every day allows,`,
    `and its next step would cost about ${formatNanos(estimateNanos)}.`,
    "It goes on by itself when there is room again.",
  ].join(" ");

const formatNanos = (nanos: NanoUsd): string => (nanos === 0 ? "$0.00" : formatDollars(toUsd(nanos)));

interface ForkSize {
  /** What the fork shares with its parent and reads from the cache. */
  readonly contextTokens: number;
  /** What it is told; it is not in the cache, and is not written to it. */
  readonly directiveTokens: number;
  /** All that it is expected to write. */
  readonly outputTokens: number;
  /** How many requests it is expected to make. Each reads all of its context again. By default one. */
  readonly requests?: number | undefined;
}

/** What a fork will cost while its parent's cache is warm; 0 for a model without a known price. */
export function estimateFork(
  model: Pick<Model, "prices" | "longPrompt"> | undefined,
  { contextTokens, directiveTokens, outputTokens, requests = 1 }: ForkSize,
): NanoUsd {
  if (model === undefined) return nanoUsd(0);
  const tariff = { prices: priceTier(model, contextTokens + directiveTokens), factor: 1 };
  return nanoUsd(
    nanosFor(contextTokens * requests, { kind: "cacheRead", tariff }) +
      nanosFor(directiveTokens * requests, { kind: "input", tariff }) +
      nanosFor(outputTokens, { kind: "output", tariff }),
  );
}
