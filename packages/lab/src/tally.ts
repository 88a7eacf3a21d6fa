import type { CompactionName, PriceName, ReplayOutcome } from "./replay-outcome.ts";
import { type Interval, computeSavings, type Spread, computeSpread, sum } from "./statistics.ts";

/** An outcome without the figures that only plots need. */
export type OutcomeFigures = Omit<ReplayOutcome, "contextByRound">;

/** The results of all policies at one price table, over all sessions that are long enough. */
export interface PriceSummary {
  readonly prices: PriceName;
  /** The same for all outcomes of a run. */
  readonly compaction: CompactionName;
  readonly sessions: number;
  readonly rounds: number;
  /** Sessions with too few rounds to be counted. */
  readonly tooShort: number;
  /** Sessions that no policy completed; they are left out because they can't compare policies. */
  readonly hopeless: number;
  /** The policy against which savings are measured. */
  readonly baseline: string;
  /** First the policies that completed all sessions, by cost; then those that failed in some, by their saving in the others. */
  readonly policies: readonly PolicySummary[];
  /** The cost of the recorded usage, and the baseline's in the same sessions; absent if no session can be compared. */
  readonly recorded?: RecordedComparison;
}

export interface RecordedComparison {
  readonly sessions: number;
  readonly cost: number;
  /** The part of `cost` for what was written again although it had not expired. */
  readonly lossCost: number;
  readonly baselineCost: number;
  /** The median of the baseline's cost over the recorded one. */
  readonly ratioMedian: number;
}

/** Sums and spreads cover the sessions that the policy completed, savings those that the baseline completed too. */
export interface PolicySummary {
  readonly policy: string;
  readonly sessions: number;
  readonly failedSessions: number;
  readonly cost: number;
  readonly costWithRework: number;
  readonly money: MoneyBySource;
  readonly saving: Interval | undefined;
  readonly savingWithRework: Interval | undefined;
  /** The ratio of the cost without refetching to the lower bound; undefined if no session has a bound. */
  readonly overFull: Spread | undefined;
  readonly overClearOnly: Spread | undefined;
  readonly refetched: number;
  readonly edits: number;
  readonly compactions: number;
  readonly refused: number;
  readonly peakContext: number;
}

/** The parts add up to `cost`. */
export interface MoneyBySource {
  readonly headerRead: number;
  readonly otherRead: number;
  readonly written: number;
  readonly refetch: number;
  readonly compactionOutput: number;
}

interface Tally {
  /** In any order; an outcome for the same file, policy and prices replaces the earlier one. */
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

/** Keeps the figures of every session: some hundred bytes for each file, policy and price table. */
export function createTally({ roundsMin, baseline }: TallyOptions): Tally {
  const byPrices = new Map<PriceName, PriceTally>();
  return {
    add: (outcome) => {
      const priceTally: PriceTally = byPrices.get(outcome.prices) ?? {
        compaction: outcome.compaction,
        byPolicy: new Map(),
        tooShort: new Set(),
      };
      byPrices.set(outcome.prices, priceTally);
      if (outcome.rounds < roundsMin) {
        priceTally.tooShort.add(outcome.file);
        return;
      }
      const byFile: ByFile = priceTally.byPolicy.get(outcome.policy) ?? new Map<string, OutcomeFigures>();
      priceTally.byPolicy.set(outcome.policy, byFile.set(outcome.file, outcome));
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
  const baselineOutcomes = [...(byPolicy.get(baseline)?.values() ?? [])].filter(isCompleted);
  const savings = savingByPolicy({ byPolicy, baselineOutcomes, figure: ({ cost }) => cost });
  const savingsWithRework = savingByPolicy({
    byPolicy,
    baselineOutcomes,
    figure: ({ costWithRework }) => costWithRework,
  });
  const recorded = summarizeRecorded(baselineOutcomes);
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
  const completed = new Set(
    [...all.values()].flatMap((byFile) => [...byFile.values()].filter(isCompleted).map(({ file }) => file)),
  );
  const files = new Set([...all.values()].flatMap((byFile) => [...byFile.keys()]));
  const byPolicy = new Map(
    [...all].map(([policy, byFile]) => [policy, new Map([...byFile].filter(([file]) => completed.has(file)))]),
  );
  return { byPolicy, hopeless: files.size - completed.size };
}

function savingByPolicy({
  byPolicy,
  baselineOutcomes,
  figure,
}: {
  readonly byPolicy: ByPolicy;
  readonly baselineOutcomes: readonly OutcomeFigures[];
  readonly figure: (outcome: OutcomeFigures) => number;
}): ReadonlyMap<string, Interval | undefined> {
  const intervals = computeSavings({
    baseline: baselineOutcomes.map(figure),
    others: [...byPolicy.values()].map((byFile) =>
      baselineOutcomes.map(({ file }) => {
        const outcome = byFile.get(file);
        return outcome !== undefined && isCompleted(outcome) ? figure(outcome) : undefined;
      }),
    ),
  });
  return new Map([...byPolicy.keys()].map((policy, at) => [policy, intervals[at]]));
}

const isCompleted = ({ failedAt }: OutcomeFigures): boolean => failedAt === undefined;

function compareSummaries(a: PolicySummary, b: PolicySummary): number {
  const byFailure = Number(a.failedSessions > 0) - Number(b.failedSessions > 0);
  if (byFailure !== 0) return byFailure;
  // If both failed in some sessions, their costs cover different sessions and can't be compared.
  if (a.failedSessions > 0) return savingEstimate(b) - savingEstimate(a);
  return a.cost - b.cost;
}

/** The lowest value if there is nothing to compare. */
const savingEstimate = ({ saving }: PolicySummary): number => saving?.estimate ?? -Number.MAX_VALUE;

function policySummary(
  policy: string,
  outcomes: readonly OutcomeFigures[],
): Omit<PolicySummary, "saving" | "savingWithRework"> {
  const completed = outcomes.filter(isCompleted);
  const total = (figure: (outcome: OutcomeFigures) => number): number => sum(completed.map(figure));
  return {
    policy,
    sessions: completed.length,
    failedSessions: outcomes.length - completed.length,
    cost: total(({ cost }) => cost),
    costWithRework: total(({ costWithRework }) => costWithRework),
    money: {
      headerRead: total(({ headerReadCost }) => headerReadCost),
      otherRead: total(({ readCost, headerReadCost }) => readCost - headerReadCost),
      written: total(({ inputCost, readCost }) => inputCost - readCost),
      refetch: total(({ refetchCost }) => refetchCost),
      compactionOutput: total(({ cost, inputCost, refetchCost }) => cost - inputCost - refetchCost),
    },
    overFull: overBound(completed, ({ optimumFull }) => optimumFull),
    overClearOnly: overBound(completed, ({ optimumClearOnly }) => optimumClearOnly),
    refetched: total(({ refetched }) => refetched),
    edits: total(({ edits }) => edits),
    compactions: total(({ compactions }) => compactions),
    // Includes failed sessions, because a refusal is often the cause of the failure.
    refused: sum(outcomes.map(({ refused }) => refused)),
    peakContext: completed.reduce((peak, { peakContext }) => Math.max(peak, peakContext), 0),
  };
}

/** False under prices for which no optimum is known. */
export const hasBounds = ({ overFull, overClearOnly }: PolicySummary): boolean =>
  overFull !== undefined || overClearOnly !== undefined;

/** Excludes refetching, which the bounds do not include. */
const overBound = (
  outcomes: readonly OutcomeFigures[],
  bound: (outcome: OutcomeFigures) => number | null,
): Spread | undefined =>
  computeSpread(
    outcomes.flatMap((outcome) => {
      const minimum = bound(outcome);
      return minimum === null || minimum === 0 ? [] : [(outcome.cost - outcome.refetchCost) / minimum];
    }),
  );

function summarizeRecorded(baselineOutcomes: readonly OutcomeFigures[]): PriceSummary["recorded"] {
  const pairs = baselineOutcomes.flatMap(({ recordedCost, recordedLossCost = 0, cost, compactions }) =>
    recordedCost === undefined || compactions > 0 ? [] : [{ recordedCost, recordedLossCost, cost }],
  );
  const ratios = computeSpread(pairs.map(({ recordedCost, cost }) => cost / recordedCost));
  if (ratios === undefined) return undefined;
  return {
    sessions: pairs.length,
    cost: sum(pairs.map(({ recordedCost }) => recordedCost)),
    lossCost: sum(pairs.map(({ recordedLossCost }) => recordedLossCost)),
    baselineCost: sum(pairs.map(({ cost }) => cost)),
    ratioMedian: ratios.median,
  };
}
