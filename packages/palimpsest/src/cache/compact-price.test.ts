import { describe, expect, it } from "vitest";
import { MadeConversation } from "../../../../test/fixture/made-inventory.ts";
import { stateOf } from "../../../../test/fixture/pipeline-state.ts";
import { millis } from "../schema/brand.ts";
import { CompactRent, defaultCompactSize, priceCompact, readableTokens } from "./compact-price.ts";
import { usualRates } from "./cache-rates.ts";

const rates = usualRates["5m"];
const input = {
  rates,
  contextTokens: 100_000,
  fixedTokens: 20_000,
  cache: "warm" as const,
  cachedTokens: 90_000,
  leavesTokens: 11_000,
  outputTokens: 3_000,
  lossCost: 40_000,
};

describe("what compacting costs", () => {
  it("is reading the context, the summary's output, writing what stays, and what summaries lose", () => {
    const price = priceCompact(input);
    expect(price.readCost).toBeCloseTo(0.1 * 90_000 + 10_000);
    expect(price.outputCost).toBeCloseTo(15_000);
    expect(price.writeCost).toBeCloseTo(1.15 * 11_000);
    expect(price.total).toBeCloseTo(19_000 + 15_000 + 12_650 + 40_000);
    expect(price.removesTokens).toBe(69_000);
  });

  it("saves reading what is removed in the coming request, or writing it on a cold cache", () => {
    expect(priceCompact(input).savesNext).toBeCloseTo(0.1 * 69_000);
    const cold = priceCompact({ ...input, cache: "cold", cachedTokens: 0 });
    expect(cold.savesNext).toBeCloseTo(1.25 * 69_000);
    expect(cold.writeCost).toBe(0);
  });

  it("never removes less than nothing", () => {
    expect(priceCompact({ ...input, contextTokens: 25_000 }).removesTokens).toBe(0);
  });
});

it("rent is what a compaction would have saved in each request since the last one", () => {
  const rent = new CompactRent();
  rent.accrue({ rates, removableTokens: 10_000 });
  rent.accrue({ rates, removableTokens: -5_000 });
  rent.accrue({ rates, removableTokens: 20_000 });
  expect(rent.accrued).toBeCloseTo(3_000);
  rent.reset();
  expect(rent.accrued).toBe(0);
});

describe("what a compaction is taken to write and leave, before there was one", () => {
  it.each([
    ["files", Infinity, { outputTokens: 3_000, leavesTokens: 11_000 }],
    ["files", 200_000, { outputTokens: 3_000, leavesTokens: 11_000 }],
    ["nothing", 200_000, { outputTokens: 3_000, leavesTokens: 3_000 }],
    ["files", 32_000, { outputTokens: 3_000, leavesTokens: 3_000 + 6_400 }],
    ["files", 8_191, { outputTokens: 819, leavesTokens: 819 + 1_638 }],
  ] as const)("restoring %s in a window of %d tokens", (restores, windowTokens, size) => {
    expect(defaultCompactSize({ restores, windowTokens })).toEqual(size);
  });
});

describe("what a fork reads of the cache", () => {
  const made = new MadeConversation().says(1_000).rounds(3);
  const shown = made.inventory.shownTokens;
  const [minute, fixedTokens] = [60_000, 500];

  it.each([
    ["all that was written, and the fixed part with it", shown + fixedTokens, 1, shown + fixedTokens],
    [
      "in the context's count, where that is twice the inventory's",
      2 * shown + fixedTokens,
      1,
      2 * shown + fixedTokens,
    ],
    ["nothing once its lifetime is over", shown + fixedTokens, 5, 0],
  ])("%s", (_, contextTokens, minutes, readable) => {
    const state = stateOf(made, { moment: { contextTokens, fixedTokens, at: millis(minutes * minute) } });
    expect(readableTokens(state)).toBeCloseTo(readable);
  });

  it("the fixed part alone behind a cut at the beginning", () => {
    const state = stateOf(made, { moment: { contextTokens: shown + fixedTokens, fixedTokens } });
    state.prefixes.cut(0);
    expect(readableTokens(state)).toBe(fixedTokens);
  });
});
