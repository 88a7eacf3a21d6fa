import { describe, expect, it } from "vitest";
import { usualRates } from "palimpsest/internal/cache/cache-rates";
import { SpendTracker } from "./spend-tracker.ts";

const usage = { inputTokens: 0, cacheReadTokens: 0, cacheWrite5mTokens: 0, cacheWrite1hTokens: 0 };
const spent = (headerTokens = 1_000): SpendTracker => new SpendTracker({ rates: usualRates, headerTokens });

describe("what a run has spent", () => {
  it.each<[string, Partial<typeof usage>, number]>([
    ["uncached at 1", { inputTokens: 100 }, 100],
    ["read at 0.1", { cacheReadTokens: 1_000 }, 100],
    ["written for five minutes at 1.25", { cacheWrite5mTokens: 1_000 }, 1_250],
    ["written for an hour at 2", { cacheWrite1hTokens: 1_000 }, 2_000],
    [
      "all of it together",
      { inputTokens: 7, cacheReadTokens: 5_000, cacheWrite5mTokens: 400, cacheWrite1hTokens: 300 },
      7 + 500 + 500 + 600,
    ],
  ])("%s", (_, given, cost) => {
    const spending = spent();
    spending.request({ ...usage, ...given });
    expect(spending.inputCost).toBe(cost);
    expect(spending.cost).toBe(cost);
  });

  it("adds up requests, and counts them", () => {
    const spending = spent();
    spending.request({ ...usage, cacheWrite5mTokens: 2_000 });
    spending.request({ ...usage, inputTokens: 5, cacheReadTokens: 2_000 });
    expect(spending).toMatchObject({
      calls: 2,
      uncachedTokens: 5,
      cacheWriteTokens: 2_000,
      cacheReadTokens: 2_000,
      inputCost: 2_705,
      readCost: 200,
    });
  });

  it.each<[string, Partial<typeof usage>, number, number]>([
    ["read where the cache gives that much", { cacheReadTokens: 1_000, cacheWrite5mTokens: 50 }, 100, 100],
    ["written for five minutes", { cacheWrite5mTokens: 3_000 }, 1_250, 0],
    ["written for an hour", { cacheWrite1hTokens: 3_000 }, 2_000, 0],
    ["read in part, and the rest written for an hour", { cacheReadTokens: 600, cacheWrite1hTokens: 3_000 }, 860, 60],
    ["sent anew", { inputTokens: 3_000 }, 1_000, 0],
  ])("says of the header what it caused: %s", (_, given, headerCost, headerReadCost) => {
    const spending = spent();
    spending.request({ ...usage, ...given });
    expect(spending).toMatchObject({ headerCost, headerReadCost });
  });

  it("charges a result that is fetched again with its tokens written and the context read", () => {
    const spending = spent();
    spending.refetch({ tokens: 2_000, contextTokens: 50_000, write: 1.25 });
    expect(spending.refetchCost).toBe(2_500 + 5_000);
    expect(spending.inputCost).toBe(0);
    expect(spending.cost).toBe(7_500);
  });

  it("charges output at its price, outside the input", () => {
    const spending = spent();
    spending.output(3_000);
    expect(spending).toMatchObject({ outputTokens: 3_000, inputCost: 0, cost: 15_000 });
  });

  it("charges another model's call at that model's prices", () => {
    const spending = spent();
    spending.otherModel(100_000, 0.25);
    spending.output(3_000, 1.25);
    expect(spending).toMatchObject({ calls: 1, uncachedTokens: 100_000, inputCost: 25_000, cost: 28_750 });
  });
});
