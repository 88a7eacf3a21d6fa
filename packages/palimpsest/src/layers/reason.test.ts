import { expect, test } from "vitest";
import { usualRates } from "../cache/cache-rates.ts";
import { priceCompact } from "../cache/compact-price.ts";
import { compactionFigures, explainCompaction, explainLimit, explainRemoval, explainThreshold } from "./reason.ts";

const rates = usualRates["5m"];
const price = priceCompact({
  rates,
  contextTokens: 100_000,
  fixedTokens: 20_000,
  cache: "warm",
  cachedTokens: 100_000,
  leavesTokens: 11_000,
  outputTokens: 3_000,
  lossCost: 40_000,
});

test.each([
  [
    3e-6,
    "a summary keeps about 69,000 tokens out of each request, about $0.41 over the next 20, for $0.11 now",
    "keeps 2,600 tokens of the oldest round out of each request, about $0.02 over the next 20",
  ],
  [
    undefined,
    "a summary keeps about 69,000 tokens out of each request; carrying them has cost more by now than making it does",
    "keeps 2,600 tokens of the oldest round out of each request",
  ],
])("at %j dollars a token, a reason is one sentence", (inputTokenUsd, compaction, removal) => {
  const moment = { rates, inputTokenUsd };
  expect(explainCompaction(price, moment)).toBe(compaction);
  expect(explainRemoval({ removesTokens: 2_600, of: "the oldest round" }, moment)).toBe(removal);
});

test("what is forced names the size and the limit", () => {
  expect(explainThreshold(171_000, 167_000)).toBe("the context has 171,000 tokens and is compacted from 167,000 on");
  expect(explainLimit(198_000, 197_000)).toBe(
    "the context has 198,000 tokens, and no request can be sent from 197,000 on",
  );
});

test("figures are whole input tokens", () => {
  const figures = compactionFigures(price, { rent: 150_000.4, neededRent: 1.5 * price.total });
  expect(figures).toEqual({
    removesTokens: 69_000,
    rent: 150_000,
    neededRent: 116_475,
    read: 10_000,
    output: 15_000,
    write: 12_650,
    loss: 40_000,
    savedNext: 6_900,
  });
});
