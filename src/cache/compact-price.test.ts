import { describe, expect, it } from "vitest";
import { CompactRent, priceCompact } from "./compact-price.ts";
import { usualRates } from "./rates.ts";

const rates = usualRates["5m"];
const input = {
  rates,
  contextTokens: 100_000,
  fixedTokens: 20_000,
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

  it("never removes less than nothing", () => {
    expect(priceCompact({ ...input, contextTokens: 25_000 }).removesTokens).toBe(0);
  });
});

it("rent is what a compaction would have saved in each request since the last one", () => {
  const rent = new CompactRent();
  rent.paid({ rates, removableTokens: 10_000 });
  rent.paid({ rates, removableTokens: -5_000 });
  rent.paid({ rates, removableTokens: 20_000 });
  expect(rent.accrued).toBeCloseTo(3_000);
  rent.compacted();
  expect(rent.accrued).toBe(0);
});
