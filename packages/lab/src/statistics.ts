import { createRandom } from "@palimpsest/simulator/internal/random";

/** What one figure is over many sessions. */
export interface Spread {
  readonly mean: number;
  readonly median: number;
  readonly p90: number;
  readonly max: number;
}

/** An estimate and where it would lie in 95 of 100 repetitions with other sessions of the same kind. */
export interface Interval {
  readonly estimate: number;
  readonly low: number;
  readonly high: number;
}

/** Costs of the same sessions in the same order. */
interface Costs {
  readonly baseline: readonly number[];
  /** Undefined where there is nothing to compare: the session then counts on neither side. */
  readonly others: readonly (readonly (number | undefined)[])[];
}

/** More resamples move the third digit of an interval, which nobody reads. */
const resamples = 2_000;
/** Any number will do; that it is the same one makes a report the same twice. */
const seed = 20_260_101;
const tailShare = 0.025;

/** Undefined without values. */
export function computeSpread(values: readonly number[]): Spread | undefined {
  if (values.length === 0) return undefined;
  const sorted = values.toSorted((one, other) => one - other);
  return {
    mean: sum(sorted) / sorted.length,
    median: quantile(sorted, 0.5),
    p90: quantile(sorted, 0.9),
    max: quantile(sorted, 1),
  };
}

/** Of sorted values, between neighbours in proportion; at least one value. */
export function quantile(sorted: readonly number[], share: number): number {
  const at = share * (sorted.length - 1);
  const below = sorted[Math.floor(at)];
  const above = sorted[Math.ceil(at)];
  if (below === undefined || above === undefined) throw new Error("a quantile needs a value");
  return below + (above - below) * (at - Math.floor(at));
}

/**
 * For each of the others the share of the baseline's money that it saves in all sessions together: 1 − Σ cost / Σ baseline. Sessions
 * are drawn anew, with repetition and all costs of a session together; so what makes a session dear as such does not widen an
 * interval. Undefined where the baseline costs nothing. 2,000 × sessions × others steps.
 */
export function computeSavings({ baseline, others }: Costs): readonly (Interval | undefined)[] {
  const columns = others.map((costs) => toColumn(costs, baseline));
  const drawn = resample(columns, baseline.length);
  return columns.map((column, at) => computeInterval(savingShare(sumColumn(column)), drawn[at] ?? []));
}

function computeInterval(estimate: number | undefined, drawn: readonly number[]): Interval | undefined {
  if (estimate === undefined) return undefined;
  const sorted = drawn.toSorted((one, other) => one - other);
  if (sorted.length === 0) return { estimate, low: estimate, high: estimate };
  // An interval from percentiles need not hold the estimate where one session outweighs all others.
  return {
    estimate,
    low: Math.min(estimate, quantile(sorted, tailShare)),
    high: Math.max(estimate, quantile(sorted, 1 - tailShare)),
  };
}

/** Both costs of a session are nothing where one is not known. */
interface Column {
  readonly costs: Float64Array;
  readonly baselines: Float64Array;
}

const toColumn = (costs: readonly (number | undefined)[], baseline: readonly number[]): Column => ({
  costs: Float64Array.from(baseline, (_, at) => costs[at] ?? 0),
  baselines: Float64Array.from(baseline, (cost, at) => (costs[at] === undefined ? 0 : cost)),
});

const sumColumn = ({ costs, baselines }: Column): Sums => ({
  cost: costs.reduce((total, one) => total + one, 0),
  baseline: baselines.reduce((total, one) => total + one, 0),
});

/** One draw of sessions serves all columns: drawing is the dear part. */
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

/** Numbers alone in the inner loop: thousands of sessions times thousands of draws. */
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

/** Money for people: millions of tokens at the base input price. */
export const formatMillions = (cost: number): string => `${(cost / 1e6).toFixed(cost < 99.5e6 ? 2 : 0)}M`;

/** `22.6 %`; what rounds to nothing has no sign. */
export const formatPercent = (share: number): string => `${formatTenths(share)} %`;

/** `19.7 to 25.1`: both ends in per cent. */
export const formatRange = ({ low, high }: Interval): string => `${formatTenths(low)} to ${formatTenths(high)}`;

export const formatRatios = (spread: Spread | undefined): readonly [string, string, string, string] =>
  spread === undefined
    ? [noFigure, noFigure, noFigure, noFigure]
    : [formatRatio(spread.mean), formatRatio(spread.median), formatRatio(spread.p90), formatRatio(spread.max)];

/** Where there is no figure. */
export const noFigure = "–";

const formatRatio = (value: number): string => value.toFixed(2);

function formatTenths(share: number): string {
  const shown = (share * 100).toFixed(1);
  return shown === "-0.0" ? "0.0" : shown;
}
