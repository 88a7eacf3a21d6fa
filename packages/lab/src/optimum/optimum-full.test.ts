import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { arbitraryRates, arbitrarySession } from "../../../../test/property/cost-session.ts";
import { exhaustiveOptimum } from "../../../../test/property/exhaustive-optimum.ts";
import { parametersFor } from "../../../../test/property/runs.ts";
import type { CostRound, CostSession } from "../cost-session.ts";
import { optimumClearOnly, optimumFull } from "./optimum-full.ts";

const session: CostSession = {
  headerTokens: 1_000,
  rates: { read: 0.1, write: 1.25, output: 5 },
  staleAfterRounds: 2,
  compaction: { leavesTokens: 100, outputTokens: 60 },
  rounds: [],
};
const round = (otherTokens: number): CostRound => ({ cold: false, otherTokens, resultTokens: [] });
const cold = (otherTokens: number): CostRound => ({ ...round(otherTokens), cold: true });
const quiet = (rounds: number): readonly CostRound[] => Array.from({ length: rounds }, () => round(0));
const small = arbitrarySession({ roundsMin: 4, roundsMax: 6, resultsMax: 2 });
const everything = { compacting: "before-any-request" } as const;

describe("the optimum of clearing and compacting", () => {
  it.each<{ rule: string; rounds: readonly CostRound[]; windowTokens?: number; cost: number }>([
    { rule: "a session without rounds costs nothing", rounds: [], cost: 0 },
    {
      rule: "no compaction pays in a session that ends soon",
      rounds: [round(4_000), ...quiet(2)],
      cost: 1.25 * 5_000 + 0.1 * 5_000 * 2,
    },
    {
      rule: "a warm compaction reads the cached context, writes its output and what it leaves, and keeps the header cached",
      rounds: [round(4_000), ...quiet(20)],
      cost: 1.25 * 5_000 + (0.1 * 5_000 + 5 * 60) + (0.1 * 1_000 + 1.25 * 100) + 0.1 * 1_100 * 19,
    },
    {
      rule: "a cold compaction of much reads it at the plain price, and the header is written after it",
      rounds: [round(9_000), cold(10)],
      cost: 1.25 * 10_000 + (1 * 10_010 + 5 * 60) + 1.25 * 1_100,
    },
    {
      rule: "a cold compaction of little writes it, and the header is read after it",
      rounds: [round(3_000), cold(10), ...quiet(30)],
      cost: 1.25 * 4_000 + (1.25 * 4_010 + 5 * 60) + (0.1 * 1_000 + 1.25 * 100) + 0.1 * 1_100 * 30,
    },
    {
      rule: "the window forces a compaction that does not pay",
      rounds: [round(4_000), round(10)],
      windowTokens: 5_000,
      cost: 1.25 * 5_000 + (0.1 * 5_000 + 1 * 10 + 5 * 60) + (0.1 * 1_000 + 1.25 * 100),
    },
    {
      rule: "a round that can't fit at all is sent all the same",
      rounds: [round(10), round(600)],
      windowTokens: 1_050,
      cost: 1.25 * 1_010 + 0.1 * 1_010 + 1.25 * 600,
    },
  ])("$rule", ({ rounds, windowTokens, cost }) => {
    expect(optimumFull({ ...session, rounds, ...(windowTokens !== undefined && { windowTokens }) })).toBeCloseTo(
      cost,
      9,
    );
  });

  it("is what trying every plan finds, where there is no window", () => {
    fc.assert(
      fc.property(small, (session) => {
        expect(optimumFull(session)).toBeCloseTo(exhaustiveOptimum(session, everything), 9);
      }),
      parametersFor({ quick: 300, long: 5_000 }),
    );
  });

  it("is no more than trying every plan finds that keeps to a window", () => {
    fc.assert(
      fc.property(small, fc.integer({ min: 200, max: 700 }), (session, windowTokens) => {
        const limited = { ...session, windowTokens };
        expect(optimumFull(limited)).toBeLessThanOrEqual(exhaustiveOptimum(limited, everything) + 1e-9);
      }),
      parametersFor({ quick: 300, long: 5_000 }),
    );
  });

  it("is exact within a window where no result could be cleared too late", () => {
    fc.assert(
      fc.property(
        arbitrarySession({ roundsMin: 4, roundsMax: 6, resultsMax: 0 }),
        fc.integer({ min: 50, max: 200 }),
        (session, windowTokens) => {
          const limited = { ...session, windowTokens };
          const found = exhaustiveOptimum(limited, everything);
          fc.pre(Number.isFinite(found));
          expect(optimumFull(limited)).toBeCloseTo(found, 9);
        },
      ),
      parametersFor({ quick: 300, long: 5_000 }),
    );
  });

  it("costs no more than clearing only, or than within a window", () => {
    const long = arbitrarySession({ roundsMin: 1, roundsMax: 60, resultsMax: 3 });
    fc.assert(
      fc.property(long, fc.integer({ min: 400, max: 2_000 }), (session, windowTokens) => {
        const free = optimumFull(session);
        expect(free).toBeLessThanOrEqual(optimumClearOnly(session) + 1e-6);
        expect(free).toBeLessThanOrEqual(optimumFull({ ...session, windowTokens }) + 1e-6);
      }),
      parametersFor({ quick: 100, long: 1_000 }),
    );
  });

  it("never falls when a price rises", () => {
    fc.assert(
      fc.property(small, arbitraryRates, (session, rates) => {
        const dearer = {
          read: Math.max(session.rates.read, rates.read),
          write: session.rates.write + rates.write,
          output: session.rates.output + rates.output,
        };
        expect(optimumFull({ ...session, rates: dearer })).toBeGreaterThanOrEqual(optimumFull(session) - 1e-9);
      }),
      parametersFor({ quick: 300, long: 5_000 }),
    );
  });
});
