import { createRandom } from "@palimpsest/simulator/internal/random";

/** The distribution of one figure over many sessions. */
export interface Spread {
  readonly mean: number;
  readonly median: number;
  readonly p90: number;
  readonly max: number;
}

/** An estimate and its 95 % confidence interval over other sessions of the same kind. */
export interface Interval {
  readonly estimate: number;
  readonly low: number;
  readonly high: number;
}

/** Costs of the same sessions in the same order. */
interface Costs {
  readonly baseline: readonly number[];
  /** Undefined if there is nothing to compare: the session then counts on neither side. */
  readonly others: readonly (readonly (number | undefined)[])[];
}

/** More resamples change only the third digit of an interval, which does not matter. */
const resamples = 2_000;
/** Any fixed number makes reports reproducible. */
const seed = 20_260_101;
const tailShare = 0.025;

/** Undefined without values. */
export function computeSpread(values: readonly number[]): Spread | undefined {
  if (values.length === 0) return undefined;
  const sorted = values.toSorted((a, b) => a - b);
  return {
    mean: sum(sorted) / sorted.length,
    median: quantile(sorted, 0.5),
    p90: quantile(sorted, 0.9),
    max: quantile(sorted, 1),
  };
}

/** Takes at least one value, sorted, and interpolates between neighbours. */
export function quantile(sorted: readonly number[], share: number): number {
  const at = share * (sorted.length - 1);
  const below = sorted[Math.floor(at)];
  const above = sorted[Math.ceil(at)];
  if (below === undefined || above === undefined) throw new Error("a quantile needs a value");
  return below + (above - below) * (at - Math.floor(at));
}

/**
 * For each of the others, the share of the baseline's cost that it saves over all sessions: 1 − Σ cost / Σ baseline. The
 * intervals come from a bootstrap over sessions that keeps all costs of a session together, so a session that is expensive
 * for every policy does not widen an interval. Undefined if the baseline costs nothing. Takes 2,000 × sessions × others steps.
 */
export function computeSavings({ baseline, others }: Costs): readonly (Interval | undefined)[] {
  const columns = others.map((costs) => toColumn(costs, baseline));
  const drawn = resample(columns, baseline.length);
  return columns.map((column, at) => computeInterval(savingShare(sumColumn(column)), drawn[at] ?? []));
}

function computeInterval(estimate: number | undefined, drawn: readonly number[]): Interval | undefined {
  if (estimate === undefined) return undefined;
  const sorted = drawn.toSorted((a, b) => a - b);
  if (sorted.length === 0) return { estimate, low: estimate, high: estimate };
  // A percentile interval may not contain the estimate if one session outweighs all others.
  return {
    estimate,
    low: Math.min(estimate, quantile(sorted, tailShare)),
    high: Math.max(estimate, quantile(sorted, 1 - tailShare)),
  };
}

/** If one cost of a session is unknown, both are 0. */
interface Column {
  readonly costs: Float64Array;
  readonly baselines: Float64Array;
}

const toColumn = (costs: readonly (number | undefined)[], baseline: readonly number[]): Column => ({
  costs: Float64Array.from(baseline, (_, at) => costs[at] ?? 0),
  baselines: Float64Array.from(baseline, (cost, at) => (costs[at] === undefined ? 0 : cost)),
});

const sumColumn = ({ costs, baselines }: Column): Sums => ({
  cost: costs.reduce((total, cost) => total + cost, 0),
  baseline: baselines.reduce((total, cost) => total + cost, 0),
});

/** Uses each draw of sessions for all columns, because drawing is the expensive part. */
function resample(columns: readonly Column[], sessions: number): readonly (readonly number[])[] {
  const random = createRandom(seed);
  const savings: number[][] = columns.map(() => []);
  const draws = new Uint32Array(sessions);
  for (let sample = 0; sample < resamples; sample++) {
    for (let at = 0; at < sessions; at++) draws[at] = Math.floor(random() * sessions);
    for (const [at, column] of columns.entries()) {
      const saving = savingShare(sumDraws(column, draws));
      if (saving !== undefined) savings[at]?.push(saving);
    }
  }
  return savings;
}

/** The inner loop, with numbers only: it runs over thousands of sessions times thousands of draws. */
function sumDraws({ costs, baselines }: Column, draws: Uint32Array): Sums {
  let cost = 0;
  let baseline = 0;
  for (let at = 0; at < draws.length; at++) {
    const session = draws[at] ?? 0;
    cost += costs[session] ?? 0;
    baseline += baselines[session] ?? 0;
  }
  return { cost, baseline };
}

interface Sums {
  readonly cost: number;
  readonly baseline: number;
}

const savingShare = ({ cost, baseline }: Sums): number | undefined => (baseline > 0 ? 1 - cost / baseline : undefined);

export const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Formats a cost as millions of tokens at the base input price. */
export const formatMillions = (cost: number): string => `${(cost / 1e6).toFixed(cost < 99.5e6 ? 2 : 0)}M`;

/** For example `22.6 %`; a value that rounds to zero has no sign. */
export const formatPercent = (share: number): string => `${formatTenths(share)} %`;

/** For example `19.7 to 25.1`, both in per cent. */
export const formatRange = ({ low, high }: Interval): string => `${formatTenths(low)} to ${formatTenths(high)}`;

export const formatRatios = (spread: Spread | undefined): readonly [string, string, string, string] =>
  spread === undefined
    ? [noFigure, noFigure, noFigure, noFigure]
    : [formatRatio(spread.mean), formatRatio(spread.median), formatRatio(spread.p90), formatRatio(spread.max)];

/** Shown if there is no figure. */
export const noFigure = "–";

const formatRatio = (value: number): string => value.toFixed(2);

function formatTenths(share: number): string {
  const shown = (share * 100).toFixed(1);
  return shown === "-0.0" ? "0.0" : shown;
}
