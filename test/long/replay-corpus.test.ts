import { beforeAll, describe, expect, it } from "vitest";
import { policyCatalogue, presetNames } from "../../packages/palimpsest/src/policy/policy-catalogue.ts";
import type { ReplayOutcome } from "../../packages/lab/src/replay-outcome.ts";
import { computeSpread } from "../../packages/lab/src/statistics.ts";
import type { PolicySummary } from "../../packages/lab/src/tally.ts";
import { flawsOf, recordedFiles, replayedCorpus, summaryOf, whyNoCorpus } from "../fixture/replay/corpus.ts";

let outcomes: readonly ReplayOutcome[];
beforeAll(async () => {
  outcomes = await replayedCorpus(recordedFiles, { policies: policyCatalogue().map(({ name }) => name) });
}, 30 * 60_000);

const named = (prices: "5m" | "1h", name: string): PolicySummary => {
  const found = summaryOf(outcomes, prices).policies.find(({ policy }) => policy === name);
  if (found === undefined) throw new Error(`no figures of ${name}`);
  return found;
};

describe.skipIf(recordedFiles.length === 0)(`clearing that pays, on all recorded sessions${whyNoCorpus}`, () => {
  it("no request is refused, and no policy costs less than is possible", () => {
    expect(flawsOf(outcomes)).toEqual([]);
  });

  it.each(["5m", "1h"] as const)(
    "at %s prices, without a window, the rule is within a twentieth of the best",
    async (prices) => {
      const open = await replayedCorpus(recordedFiles, {
        policies: ["rule"],
        prices: [prices],
        windowTokens: "none",
        refetch: "free",
      });
      const over = open
        .filter(({ rounds }) => rounds >= 30)
        .map(({ inputCost, optimumClearOnly }) => inputCost / (optimumClearOnly ?? Infinity));
      expect(over.length).toBeGreaterThan(20);
      expect(computeSpread(over)?.mean).toBeLessThanOrEqual(1.05);
      expect(computeSpread(over)?.max).toBeLessThanOrEqual(1.12);
    },
  );

  it.each(["5m", "1h"] as const)("the default is cheaper than every other preset that comes through, %s", (prices) => {
    const { policies } = summaryOf(outcomes, prices);
    const through = policies.filter(
      ({ policy, failedSessions }) => failedSessions === 0 && presetNames.some((name) => name === policy),
    );
    expect(through.length).toBeGreaterThan(5);
    expect(through[0]?.policy).toBe("palimpsest");
  });

  it("its clearing alone saves 7 % at five-minute prices, surely something, and at 1h is no dearer than clearing cold", () => {
    const { saving } = named("5m", "palimpsest-clear");
    expect(saving?.estimate).toBeGreaterThanOrEqual(0.07);
    expect(saving?.low).toBeGreaterThan(0);
    expect(named("1h", "palimpsest-clear").cost).toBeLessThanOrEqual(named("1h", "cold").cost);
  });

  it.each([
    ["5m", 0.2],
    ["1h", 0.12],
  ] as const)("the default saves at %s prices at least %d", (prices, least) => {
    expect(named(prices, "palimpsest").saving?.estimate).toBeGreaterThanOrEqual(least);
  });
});
