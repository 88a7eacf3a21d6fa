import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Interval, quantile, computeSavings, computeSpread } from "./statistics.ts";

interface Pair {
  readonly cost: number;
  readonly baseline: number;
}

/** Of one policy in these sessions. */
const savingOf = (pairs: readonly Pair[]): Interval | undefined =>
  computeSavings({ baseline: pairs.map(({ baseline }) => baseline), others: [pairs.map(({ cost }) => cost)] })[0];

const pairsOf = (...pairs: readonly (readonly [number, number])[]): readonly Pair[] =>
  pairs.map(([cost, baseline]) => ({ cost, baseline }));

const money = fc.double({ min: 1, max: 1e9, noNaN: true });
const anyPairs = fc.array(fc.record({ cost: money, baseline: money }), { minLength: 1, maxLength: 12 });
const few = { numRuns: 60 };

describe("spreadOf", () => {
  it.each([
    { values: [7], spread: { mean: 7, median: 7, p90: 7, max: 7 } },
    { values: [3, 1, 2], spread: { mean: 2, median: 2, p90: 2.8, max: 3 } },
    { values: [4, 1, 3, 2], spread: { mean: 2.5, median: 2.5, p90: 3.7, max: 4 } },
    { values: Array.from({ length: 11 }, (_, at) => 10 - at), spread: { mean: 5, median: 5, p90: 9, max: 10 } },
  ])("of $values has the known mean, median, p90 and max", ({ values, spread }) => {
    const found = computeSpread(values);
    for (const [name, value] of Object.entries(spread)) expect(found).toHaveProperty(name, expect.closeTo(value, 12));
  });

  it("of nothing is nothing", () => expect(computeSpread([])).toBeUndefined());

  it("refuses a quantile of no value", () => expect(() => quantile([], 0.5)).toThrow("needs a value"));
});

describe("savingsOf", () => {
  it("is the share of all money together, not the mean of the sessions' shares", () => {
    expect(savingOf(pairsOf([50, 100], [900, 900]))?.estimate).toBeCloseTo(0.05, 12);
  });

  it("of one session has no width", () => {
    expect(savingOf(pairsOf([80, 100]))).toEqual({
      estimate: expect.closeTo(0.2, 12) as number,
      low: expect.closeTo(0.2, 12) as number,
      high: expect.closeTo(0.2, 12) as number,
    });
  });

  it("has the ends that all draws of two sessions have: both of one, or both of the other", () => {
    const interval = savingOf(pairsOf([50, 100], [100, 100]));
    expect(interval).toEqual({ estimate: 0.25, low: 0, high: 0.5 });
  });

  it("is narrow where each session saves the same share, however different the sessions are", () => {
    const pairs = Array.from({ length: 40 }, (_, at): Pair => ({
      baseline: 2 ** (at % 20),
      cost: 0.75 * 2 ** (at % 20),
    }));
    const { low = 0, high = 1 } = savingOf(pairs) ?? {};
    expect(high - low).toBeLessThan(1e-12);
  });

  it("is within two standard errors where these are known", () => {
    // Costs of 90 or 110 to a baseline of 100, half of each: the mean of n has a standard error of 0.1/√n.
    const pairs = Array.from({ length: 400 }, (_, at): Pair => ({ baseline: 100, cost: at % 2 === 0 ? 90 : 110 }));
    const { low = 0, high = 0 } = savingOf(pairs) ?? {};
    expect(high).toBeCloseTo(0.0098, 3);
    expect(low).toBeCloseTo(-0.0098, 3);
  });

  it("says nothing where the baseline costs nothing", () => {
    expect(savingOf([])).toBeUndefined();
    expect(savingOf(pairsOf([1, 0]))).toBeUndefined();
  });

  it("of several policies is what each has alone", () => {
    const baseline = [100, 200, 50];
    const others = [
      [80, 220, 30],
      [10, 20, 5],
    ];
    expect(computeSavings({ baseline, others })).toEqual(
      others.flatMap((one) => computeSavings({ baseline, others: [one] })),
    );
  });

  it("leaves a session out on both sides where there is nothing to compare", () => {
    const [saving] = computeSavings({ baseline: [100, 1_000], others: [[75, undefined]] });
    expect(saving).toEqual({ estimate: 0.25, low: 0.25, high: 0.25 });
    expect(computeSavings({ baseline: [100], others: [[undefined]] })).toEqual([undefined]);
  });

  it("is the same each time", () => {
    const pairs = pairsOf([1, 2], [5, 3], [8, 13]);
    expect(savingOf(pairs)).toEqual(savingOf(pairs));
  });

  it("always holds its estimate", () => {
    fc.assert(
      fc.property(anyPairs, (pairs) => {
        const { low, estimate, high } = savingOf(pairs) ?? { low: 1, estimate: 0, high: 0 };
        return low <= estimate && estimate <= high;
      }),
      few,
    );
  });

  it("of identical costs is exactly nothing", () => {
    fc.assert(
      fc.property(anyPairs, (pairs) => {
        const same = pairs.map(({ cost }) => ({ cost, baseline: cost }));
        expect(savingOf(same)).toEqual({ estimate: 0, low: 0, high: 0 });
      }),
      few,
    );
  });
});
