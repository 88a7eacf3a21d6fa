import type { CompactionName, PriceName, ReplayOutcome } from "./replay-outcome.ts";
import { type Interval, computeSavings, type Spread, computeSpread, sum } from "./statistics.ts";

/** An outcome without what only plots need. */
export type OutcomeFigures = Omit<ReplayOutcome, "contextByRound">;

/** What all policies did at one price table, over the sessions that are long enough. */
export interface PriceSummary {
  readonly prices: PriceName;
  /** The same for all outcomes of a run. */
  readonly compaction: CompactionName;
  readonly sessions: number;
  readonly rounds: number;
  /** Sessions with fewer rounds than count. */
  readonly tooShort: number;
  /** Sessions that no policy came through: they say nothing about policies. */
  readonly hopeless: number;
  /** The policy that savings are measured against. */
  readonly baseline: string;
  /** Those that came through everywhere, cheapest first; then those that failed somewhere, by what they save in the others. */
  readonly policies: readonly PolicySummary[];
  /** What the recordings' own usage costs, and the baseline in the same sessions; absent where none has usage. */
  readonly recorded?: { readonly sessions: number; readonly cost: number; readonly baselineCost: number };
}

/** Sums and spreads are over the sessions that the policy came through, savings over those that the baseline did too. */
export interface PolicySummary {
  readonly policy: string;
  readonly sessions: number;
  readonly failedSessions: number;
  readonly cost: number;
  readonly costWithRework: number;
  readonly money: MoneyBySource;
  readonly saving: Interval | undefined;
  readonly savingWithRework: Interval | undefined;
  /** Input and output of compactions over the lower bound; undefined where no session has one. */
  readonly overFull: Spread | undefined;
  readonly overClearOnly: Spread | undefined;
  readonly refetched: number;
  readonly edits: number;
  readonly compactions: number;
  readonly refused: number;
  readonly peakContext: number;
}

/** Its parts add up to `cost`. */
export interface MoneyBySource {
  readonly headerRead: number;
  readonly otherRead: number;
  readonly written: number;
  readonly refetch: number;
  readonly compactionOutput: number;
}

interface Tally {
  /** In any order; an outcome for the same file, policy and prices takes the place of the one before. */
  add(outcome: OutcomeFigures): void;
  summaries(): readonly PriceSummary[];
}

export interface TallyOptions {
  readonly roundsMin: number;
  readonly baseline: string;
}

type ByFile = Map<string, OutcomeFigures>;
type ByPolicy = Map<string, ByFile>;
interface PriceTally {
  readonly compaction: CompactionName;
  readonly byPolicy: ByPolicy;
  readonly tooShort: Set<string>;
}

/** Keeps the numbers of every session: some hundred bytes for each file, policy and price table. */
export function createTally({ roundsMin, baseline }: TallyOptions): Tally {
  const byPrices = new Map<PriceName, PriceTally>();
  return {
    add: (outcome) => {
      const counted: PriceTally = byPrices.get(outcome.prices) ?? {
        compaction: outcome.compaction,
        byPolicy: new Map(),
        tooShort: new Set(),
      };
      byPrices.set(outcome.prices, counted);
      if (outcome.rounds < roundsMin) {
        counted.tooShort.add(outcome.file);
        return;
      }
      const byFile: ByFile = counted.byPolicy.get(outcome.policy) ?? new Map<string, OutcomeFigures>();
      counted.byPolicy.set(outcome.policy, byFile.set(outcome.file, outcome));
    },
    summaries: () =>
      [...byPrices].map(([prices, { compaction, byPolicy, tooShort }]) => ({
        prices,
        compaction,
        baseline,
        tooShort: tooShort.size,
        ...summarizePolicies(byPolicy, baseline),
      })),
  };
}

function summarizePolicies(
  all: ByPolicy,
  baseline: string,
): Omit<PriceSummary, "prices" | "compaction" | "baseline" | "tooShort"> {
  const { byPolicy, hopeless } = dropHopeless(all);
  const roundsByFile = new Map(
    [...byPolicy.values()].flatMap((byFile) => [...byFile.values()].map(({ file, rounds }) => [file, rounds])),
  );
  const ofBaseline = [...(byPolicy.get(baseline)?.values() ?? [])].filter(cameThrough);
  const savings = savingByPolicy({ byPolicy, ofBaseline, figure: ({ cost }) => cost });
  const savingsWithRework = savingByPolicy({ byPolicy, ofBaseline, figure: ({ costWithRework }) => costWithRework });
  const recorded = summarizeRecorded(ofBaseline);
  return {
    hopeless,
    sessions: roundsByFile.size,
    rounds: sum([...roundsByFile.values()]),
    policies: [...byPolicy]
      .map(([policy, byFile]) => ({
        ...policySummary(policy, [...byFile.values()]),
        saving: savings.get(policy),
        savingWithRework: savingsWithRework.get(policy),
      }))
      .toSorted(compareSummaries),
    ...(recorded === undefined ? {} : { recorded }),
  };
}

function dropHopeless(all: ByPolicy): { readonly byPolicy: ByPolicy; readonly hopeless: number } {
  const through = new Set(
    [...all.values()].flatMap((byFile) => [...byFile.values()].filter(cameThrough).map(({ file }) => file)),
  );
  const files = new Set([...all.values()].flatMap((byFile) => [...byFile.keys()]));
  const byPolicy = new Map(
    [...all].map(([policy, byFile]) => [policy, new Map([...byFile].filter(([file]) => through.has(file)))]),
  );
  return { byPolicy, hopeless: files.size - through.size };
}

function savingByPolicy({
  byPolicy,
  ofBaseline,
  figure,
}: {
  readonly byPolicy: ByPolicy;
  readonly ofBaseline: readonly OutcomeFigures[];
  readonly figure: (outcome: OutcomeFigures) => number;
}): ReadonlyMap<string, Interval | undefined> {
  const intervals = computeSavings({
    baseline: ofBaseline.map(figure),
    others: [...byPolicy.values()].map((byFile) =>
      ofBaseline.map(({ file }) => {
        const outcome = byFile.get(file);
        return outcome !== undefined && cameThrough(outcome) ? figure(outcome) : undefined;
      }),
    ),
  });
  return new Map([...byPolicy.keys()].map((policy, at) => [policy, intervals[at]]));
}

const cameThrough = ({ failedAt }: OutcomeFigures): boolean => failedAt === undefined;

function compareSummaries(one: PolicySummary, other: PolicySummary): number {
  const failed = Number(one.failedSessions > 0) - Number(other.failedSessions > 0);
  if (failed !== 0) return failed;
  // Costs are of different sessions where these failed.
  if (one.failedSessions > 0) return savingEstimate(other) - savingEstimate(one);
  return one.cost - other.cost;
}

/** Least where there is nothing to compare. */
const savingEstimate = ({ saving }: PolicySummary): number => saving?.estimate ?? -Number.MAX_VALUE;

function policySummary(
  policy: string,
  outcomes: readonly OutcomeFigures[],
): Omit<PolicySummary, "saving" | "savingWithRework"> {
  const through = outcomes.filter(cameThrough);
  const total = (figure: (outcome: OutcomeFigures) => number): number => sum(through.map(figure));
  return {
    policy,
    sessions: through.length,
    failedSessions: outcomes.length - through.length,
    cost: total(({ cost }) => cost),
    costWithRework: total(({ costWithRework }) => costWithRework),
    money: {
      headerRead: total(({ headerReadCost }) => headerReadCost),
      otherRead: total(({ readCost, headerReadCost }) => readCost - headerReadCost),
      written: total(({ inputCost, readCost }) => inputCost - readCost),
      refetch: total(({ refetchCost }) => refetchCost),
      compactionOutput: total(({ cost, inputCost, refetchCost }) => cost - inputCost - refetchCost),
    },
    overFull: overBound(through, ({ optimumFull }) => optimumFull),
    overClearOnly: overBound(through, ({ optimumClearOnly }) => optimumClearOnly),
    refetched: total(({ refetched }) => refetched),
    edits: total(({ edits }) => edits),
    compactions: total(({ compactions }) => compactions),
    // Also of sessions that failed: a refusal is often why.
    refused: sum(outcomes.map(({ refused }) => refused)),
    peakContext: through.reduce((peak, { peakContext }) => Math.max(peak, peakContext), 0),
  };
}

/** There are none under prices for which no optimum is known. */
export const hasBounds = ({ overFull, overClearOnly }: PolicySummary): boolean =>
  overFull !== undefined || overClearOnly !== undefined;

/** Without re-fetching, which the bounds do not know. */
const overBound = (
  outcomes: readonly OutcomeFigures[],
  bound: (outcome: OutcomeFigures) => number | null,
): Spread | undefined =>
  computeSpread(
    outcomes.flatMap((outcome) => {
      const least = bound(outcome);
      return least === null || least === 0 ? [] : [(outcome.cost - outcome.refetchCost) / least];
    }),
  );

function summarizeRecorded(ofBaseline: readonly OutcomeFigures[]): PriceSummary["recorded"] {
  const withUsage = ofBaseline.filter(({ recordedCost }) => recordedCost !== undefined);
  if (withUsage.length === 0) return undefined;
  return {
    sessions: withUsage.length,
    cost: sum(withUsage.map(({ recordedCost = 0 }) => recordedCost)),
    baselineCost: sum(withUsage.map(({ cost }) => cost)),
  };
}
