import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { arbitraryRates, arbitrarySession } from "../../../../test/property/cost-session.ts";
import { exhaustiveOptimum, planCost } from "../../../../test/property/exhaustive-optimum.ts";
import { parametersFor } from "../../../../test/property/runs.ts";
import type { CostRound, CostSession } from "../cost-session.ts";
import { optimumClearOnly } from "./optimum-full.ts";

const session: CostSession = {
  headerTokens: 1_000,
  rates: { read: 0.1, write: 1.25, output: 5 },
  staleAfterRounds: 2,
  compaction: { leavesTokens: 100, outputTokens: 50 },
  rounds: [],
};
const round = (otherTokens: number, ...resultTokens: readonly number[]): CostRound => ({
  cold: false,
  otherTokens,
  resultTokens,
});
const cold = (otherTokens: number): CostRound => ({ cold: true, otherTokens, resultTokens: [] });
const small = arbitrarySession({ roundsMin: 4, roundsMax: 6, resultsMax: 2 });

describe("the optimum of clearing only", () => {
  it.each<{ rule: string; rounds: readonly CostRound[]; cost: number }>([
    { rule: "a session without rounds costs nothing", rounds: [], cost: 0 },
    { rule: "the first request is written whole", rounds: [round(100, 50)], cost: 1.25 * 1_150 },
    {
      rule: "a result with nothing behind it goes as soon as it is stale",
      rounds: [round(100, 50), round(0), round(0), round(0)],
      cost: 1.25 * 1_150 + 0.1 * (1_150 + 1_100 + 1_100),
    },
    {
      rule: "a result stands to the end where its rent, 2 · 10, is less than the cut, 1.15 · 20",
      rounds: [round(0, 100), round(20), round(0), round(0)],
      cost: 1.25 * (1_100 + 20) + 0.1 * (1_100 + 1_120 + 1_120),
    },
    {
      rule: "it goes at once where one round more makes the rent 30",
      rounds: [round(0, 100), round(20), round(0), round(0), round(0)],
      cost: 1.25 * (1_100 + 20) + 0.1 * (1_100 + 1_020 + 1_020 + 1_020) + 1.15 * 20,
    },
    {
      rule: "a cold round writes everything but what is stale",
      rounds: [round(0, 100), round(20), cold(5), round(0)],
      cost: 1.25 * (1_100 + 20) + 0.1 * 1_100 + 1.25 * 1_025 + 0.1 * 1_025,
    },
    {
      rule: "a cold round leaves what is not stale yet",
      rounds: [round(0, 100), cold(20)],
      cost: 1.25 * 1_100 + 1.25 * 1_120,
    },
  ])("$rule", ({ rounds, cost }) => {
    expect(optimumClearOnly({ ...session, rounds })).toBeCloseTo(cost, 9);
  });

  it("is what trying every plan finds", () => {
    fc.assert(
      fc.property(small, (session) => {
        expect(optimumClearOnly(session)).toBeCloseTo(exhaustiveOptimum(session, { compacting: "never" }), 9);
      }),
      parametersFor({ quick: 300, long: 5_000 }),
    );
  });

  it("costs no more than never clearing, or clearing whenever the cache is cold, or as soon as results are stale", () => {
    const long = arbitrarySession({ roundsMin: 1, roundsMax: 60, resultsMax: 3 });
    fc.assert(
      fc.property(long, (session) => {
        const coldRounds = session.rounds.flatMap((round, at) => (round.cold ? [at] : []));
        const optimum = optimumClearOnly(session) - 1e-6;
        expect(optimum).toBeLessThanOrEqual(planCost(session, () => Number.POSITIVE_INFINITY));
        expect(optimum).toBeLessThanOrEqual(planCost(session, ({ staleAt }) => staleAt));
        expect(optimum).toBeLessThanOrEqual(
          planCost(session, ({ staleAt }) => coldRounds.find((at) => at >= staleAt) ?? Number.POSITIVE_INFINITY),
        );
      }),
      parametersFor({ quick: 100, long: 1_000 }),
    );
  });

  it("never falls when a price rises", () => {
    fc.assert(
      fc.property(small, arbitraryRates, (session, rates) => {
        const dearer = {
          ...session.rates,
          read: Math.max(session.rates.read, rates.read),
          write: session.rates.write + rates.write,
        };
        expect(optimumClearOnly({ ...session, rates: dearer })).toBeGreaterThanOrEqual(
          optimumClearOnly(session) - 1e-9,
        );
      }),
      parametersFor({ quick: 300, long: 5_000 }),
    );
  });

  it("is the same however the results of a round are divided", () => {
    fc.assert(
      fc.property(small, (session) => {
        const rounds = session.rounds.map((round) => ({
          ...round,
          resultTokens: [round.resultTokens.reduce((sum, tokens) => sum + tokens, 0)],
        }));
        expect(exhaustiveOptimum({ ...session, rounds }, { compacting: "never" })).toBeCloseTo(
          exhaustiveOptimum(session, { compacting: "never" }),
          9,
        );
      }),
      parametersFor({ quick: 100, long: 1_000 }),
    );
  });

  it.each([
    { why: "results stale at birth", change: { staleAfterRounds: 0 } },
    { why: "a cache dearer to read than to write", change: { rates: { read: 0.5, write: 0.4, output: 5 } } },
    { why: "a cache dearer to read than to do without", change: { rates: { read: 1.1, write: 1.25, output: 5 } } },
  ])("takes no session with $why", ({ change }) => {
    expect(() => optimumClearOnly({ ...session, ...change })).toThrow(RangeError);
  });
});
