import { describe, expect, it } from "vitest";
import { madeRecording } from "../../../test/fixture/replay/made-recording.ts";
import type { UsageSplit } from "palimpsest/internal/cache/usage-split";
import type { CountingMethod } from "palimpsest/internal/layers/policy";
import { tokens } from "palimpsest/internal/schema/brand";
import { uncalibratedPadding } from "palimpsest/internal/tokens/estimate-block";
import { computeThresholds } from "palimpsest/internal/tokens/thresholds";
import { KnownSize } from "./known-size.ts";

const { tokensOf, rounds } = madeRecording([{ reply: 500 }, { said: 3_000 }]);
const [first, second] = rounds;
if (first === undefined || second === undefined) throw new Error("made with two rounds");

const thresholds = computeThresholds({
  rule: {
    outputReserveTokensMax: 20_000,
    compactBufferTokens: 13_000,
    warningBufferTokens: 20_000,
    blockingBufferTokens: 3_000,
    inputLimit: "ignored",
  },
  window: tokens(200_000),
  outputTokensMax: tokens(64_000),
  autoCompact: "on",
});

/** A request of so many tokens, of which so many were written to the cache, for whichever lifetime. */
const usageOf = (requestTokens: number, writtenTokens = 0): UsageSplit => ({
  inputTokens: 1_000,
  cacheReadTokens: requestTokens - writtenTokens - 1_000,
  cacheWrite5mTokens: writtenTokens / 2,
  cacheWrite1hTokens: writtenTokens / 2,
});

/** How much later than at its threshold the policy compacts at 120,000 tokens. */
const lateBy = (size: KnownSize): number => size.shiftThresholds(thresholds, 120_000).compact - thresholds.compact;

describe("how large a policy takes the context to be", () => {
  it.each<[CountingMethod, number]>([
    ["usage", 120_000],
    ["usage-and-quarter-characters", 0],
    ["usage-without-writes", 0],
    ["usage-and-padded-estimate", 0],
    ["usage-and-calibrated-estimate", 0],
  ])("%s before anything was counted: late by %i", (counting, late) => {
    expect(lateBy(new KnownSize({ counting, tokensOf }))).toBe(late);
  });

  it.each<[CountingMethod, number]>([
    ["usage", 19_500],
    ["usage-and-quarter-characters", 19_500],
    ["usage-without-writes", 19_500],
    ["usage-and-calibrated-estimate", 0],
  ])("%s goes by the last request and its reply: late by %i", (counting, late) => {
    const size = new KnownSize({ counting, tokensOf });
    size.counted(usageOf(100_000));
    size.onReply(first.reply);
    size.onEntries(second.before);
    expect(lateBy(size)).toBe(late);
  });

  it.each<[CountingMethod, number]>([
    ["usage", 20_000],
    ["usage-and-quarter-characters", 20_000],
    ["usage-without-writes", 50_000],
    ["usage-and-padded-estimate", 20_000],
    ["usage-and-calibrated-estimate", 0],
  ])("%s of a request that wrote 30,000 of its 100,000 tokens: late by %i", (counting, late) => {
    const size = new KnownSize({ counting, tokensOf });
    size.counted(usageOf(100_000, 30_000));
    expect(lateBy(size)).toBe(late);
  });

  it("adds an estimate of what came since, where the policy makes one", () => {
    const size = new KnownSize({ counting: "usage-and-padded-estimate", tokensOf });
    size.counted(usageOf(100_000));
    size.onReply(first.reply);
    const before = lateBy(size);
    size.onEntries(second.before);
    // "3000 tokens: user 1" is short, whatever it is said to hold.
    expect(before - lateBy(size)).toBeGreaterThan(0);
    expect(before - lateBy(size)).toBeLessThan(20 * uncalibratedPadding);
  });

  it("knows nothing of what was counted before a compaction", () => {
    const size = new KnownSize({ counting: "usage-and-quarter-characters", tokensOf });
    size.counted(usageOf(100_000));
    size.onCompacted();
    expect(lateBy(size)).toBe(0);
  });

  it("moves the warning by as much as the threshold, and nothing else", () => {
    const size = new KnownSize({ counting: "usage", tokensOf });
    size.counted(usageOf(110_000));
    expect(size.shiftThresholds(thresholds, 120_000)).toEqual({
      ...thresholds,
      compact: thresholds.compact + 10_000,
      warning: thresholds.warning + 10_000,
    });
  });
});
