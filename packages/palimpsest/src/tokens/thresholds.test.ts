import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tokens } from "../schema/brand.ts";
import { palimpsest } from "../policy/palimpsest.ts";
import { outputTokensFor, computePressure, computeThresholds } from "./thresholds.ts";

const of = (window: number, extra: object = {}): ReturnType<typeof computeThresholds> =>
  computeThresholds({
    rule: palimpsest.thresholds,
    window: tokens(window),
    outputTokensMax: tokens(64_000),
    autoCompact: "on",
    ...extra,
  });

describe("thresholds", () => {
  it("of a window of 200,000 are the published ones", () => {
    expect(of(200_000)).toMatchObject({
      effective: 180_000,
      compact: 167_000,
      limit: 167_000,
      warning: 147_000,
      error: 147_000,
      blocking: 197_000,
    });
  });

  it("without automatic compaction the effective window is the limit", () => {
    expect(of(200_000, { autoCompact: "off" })).toMatchObject({ limit: 180_000, warning: 160_000 });
  });

  it("a percentage can only lower the compaction threshold, and is floored", () => {
    expect(of(200_000, { compactPercent: 50.5 }).compact).toBe(90_900);
    expect(of(200_000, { compactPercent: 99 }).compact).toBe(167_000);
    expect(of(200_000, { compactPercent: 0 }).compact).toBe(167_000);
    expect(of(200_000, { compactPercent: 101 }).compact).toBe(167_000);
  });

  it("never go negative or cross, for any window from 8K to 1M", () => {
    fc.assert(
      fc.property(fc.integer({ min: 8_000, max: 1_000_000 }), (window) => {
        const { warning, compact, effective, blocking } = of(window);
        expect(
          0 < warning && warning < compact && compact < effective && effective < blocking && blocking < window,
        ).toBe(true);
      }),
    );
  });

  it("each flag is reckoned on its own", () => {
    const thresholds = of(200_000, { blockingTokens: tokens(10) });
    expect(computePressure(tokens(100), thresholds, "on")).toMatchObject({
      warning: false,
      compact: false,
      blocking: true,
      percentLeft: 99,
    });
    expect(computePressure(tokens(170_000), of(200_000), "on")).toMatchObject({
      warning: true,
      compact: true,
      blocking: false,
      percentLeft: 0,
    });
    expect(computePressure(tokens(170_000), of(200_000), "off").compact).toBe(false);
  });

  it("what is used is never shown as nothing: an estimate that turns out smaller moves no whole per cent by rounding", () => {
    const percents = [0, 1, 3_700, 5_300].map((used) => computePressure(tokens(used), of(1_000_000), "on").percentLeft);
    expect(percents).toEqual([100, 99, 99, 99]);
  });

  it("a reply may take what the window leaves", () => {
    expect(outputTokensFor(tokens(64_000), tokens(100_000), of(200_000))).toBe(64_000);
    expect(outputTokensFor(tokens(64_000), tokens(190_000), of(200_000))).toBe(7_000);
  });
});
