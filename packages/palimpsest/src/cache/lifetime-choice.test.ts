import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parametersFor } from "../../../../test/property/runs.ts";
import { millis } from "../schema/brand.ts";
import { CachedPrefixes } from "./cached-prefixes.ts";
import { chooseLifetime, GapChance, lifetimeNow } from "./breakpoint-planner.ts";
import { usualRates } from "./cache-rates.ts";

const runs = parametersFor({ quick: 500, long: 10_000 });
const minute = 60_000;

describe("an hour instead of five minutes", () => {
  it("pays if a gap is likelier than 0.65 times what is new, by the context", () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.integer({ min: 1, max: 50_000 }),
        fc.integer({ min: 0, max: 500_000 }),
        (gapChance, newTokens, oldTokens) => {
          const uncoveredTokens = newTokens + oldTokens;
          const limit = (0.75 / 1.15) * (newTokens / uncoveredTokens);
          fc.pre(Math.abs(gapChance - limit) > 1e-9);
          const chosen = chooseLifetime({ gapChance, rates: usualRates, newTokens, uncoveredTokens });
          expect(chosen).toBe(gapChance > limit ? "1h" : "5m");
        },
      ),
      runs,
    );
    expect(0.75 / 1.15).toBeCloseTo(0.65, 2);
  });

  it.each<[string, number, number, number, "5m" | "1h"]>([
    ["while a large part is covered, only what is not counts", 0.05, 1_000, 10_000, "5m"],
    ["the same gaps pay where nothing is covered", 0.05, 1_000, 100_000, "1h"],
    ["without gaps it never pays", 0, 1, 1_000_000, "5m"],
  ])("%s", (_, gapChance, newTokens, uncoveredTokens, expected) => {
    expect(chooseLifetime({ gapChance, rates: usualRates, newTokens, uncoveredTokens })).toBe(expected);
  });

  it("one request for an hour covers what is before it, and the fixed part with it", () => {
    const prefixes = new CachedPrefixes();
    const now = (shownTokens: number) =>
      lifetimeNow({
        gapChance: 0.1,
        rates: usualRates,
        at: millis(minute),
        prefixes,
        shownTokens,
        fixedTokens: 40_000,
      });
    prefixes.sent({ at: millis(0), written: [{ upToTokens: 100_000, lifetime: "5m" }], refreshed: [] });
    expect(now(101_000)).toBe("1h");
    prefixes.sent({ at: millis(minute), written: [{ upToTokens: 101_000, lifetime: "1h" }], refreshed: [] });
    expect(now(102_000)).toBe("5m");
  });
});

describe("the chance of a gap", () => {
  it.each([
    ["under five minutes is none", 5 * minute - 1, "falls"],
    ["from five minutes on is one", 5 * minute, "rises"],
    ["up to an hour", 60 * minute - 1, "rises"],
    ["an hour is too long for either lifetime", 60 * minute, "falls"],
  ])("%s", (_, gapMillis, moves) => {
    const gaps = new GapChance();
    const before = gaps.value;
    gaps.observe(gapMillis);
    expect(gaps.value > before ? "rises" : "falls").toBe(moves);
  });

  it("is higher soon after a gap than long after it: they come in bunches", () => {
    const gaps = new GapChance();
    gaps.observe(5 * minute);
    const values = Array.from({ length: 40 }, () => {
      gaps.observe(0);
      return gaps.value;
    });
    expect(values[8]).toBeGreaterThan(1.2 * (values[9] ?? NaN));
    expect(values[28]).toBeGreaterThan(1.2 * (values[29] ?? NaN));
  });
});
