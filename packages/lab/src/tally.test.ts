import { describe, expect, it } from "vitest";
import { figuresOf } from "../../../test/fixture/replay/outcome.ts";
import type { ReplayOutcome } from "./replay-outcome.ts";
import { createTally, type PriceSummary } from "./tally.ts";

function summaryOf(...outcomes: readonly Partial<ReplayOutcome>[]): PriceSummary {
  const tally = createTally({ roundsMin: 30, baseline: "never" });
  for (const one of outcomes) tally.add(figuresOf(one));
  const [summary] = tally.summaries();
  if (summary === undefined) throw new Error("no summary");
  return summary;
}

const policyIn = (summary: PriceSummary, name: string) => summary.policies.find(({ policy }) => policy === name);

describe("a summary", () => {
  it("sums money over sessions and measures savings against the baseline", () => {
    const summary = summaryOf(
      { file: "a", policy: "never", inputCost: 100 },
      { file: "b", policy: "never", inputCost: 300 },
      { file: "a", policy: "rule", inputCost: 80 },
      { file: "b", policy: "rule", inputCost: 200, refetchCost: 20 },
    );
    expect(summary).toMatchObject({ sessions: 2, rounds: 200, tooShort: 0 });
    expect(policyIn(summary, "rule")).toMatchObject({ cost: 300, saving: { estimate: 0.25 } });
    expect(policyIn(summary, "never")?.saving).toEqual({ estimate: 0, low: 0, high: 0 });
  });

  it("leaves out sessions with too few rounds, and says how many, each once", () => {
    const summary = summaryOf(
      { file: "short", rounds: 29 },
      { file: "short", rounds: 29, policy: "rule" },
      { file: "long", rounds: 30 },
    );
    expect(summary).toMatchObject({ sessions: 1, rounds: 30, tooShort: 1 });
  });

  it("ranks by cost, and puts a policy that fails somewhere behind all others however cheap it is", () => {
    const summary = summaryOf(
      { policy: "dear", inputCost: 300 },
      { policy: "cheap", inputCost: 100 },
      { policy: "fails", inputCost: 1, failedAt: 7 },
    );
    expect(summary.policies.map(({ policy }) => policy)).toEqual(["cheap", "dear", "fails"]);
  });

  it("ranks policies that fail by what they save where they did not, since their costs are of different sessions", () => {
    const summary = summaryOf(
      { file: "a", policy: "never", inputCost: 100 },
      { file: "b", policy: "never", inputCost: 900 },
      { file: "a", policy: "dear", inputCost: 110 },
      { file: "b", policy: "dear", failedAt: 1 },
      { file: "a", policy: "good", failedAt: 1 },
      { file: "b", policy: "good", inputCost: 600 },
      { file: "a", policy: "fails", failedAt: 1 },
      { file: "b", policy: "fails", failedAt: 1 },
    );
    expect(summary.policies.map(({ policy }) => policy)).toEqual(["never", "good", "dear", "fails"]);
  });

  it("leaves out a session that no policy comes through, and says how many there are", () => {
    const summary = summaryOf(
      { file: "a", policy: "never", failedAt: 2 },
      { file: "a", policy: "rule", failedAt: 1 },
      { file: "b", policy: "never" },
      { file: "b", policy: "rule" },
    );
    expect(summary).toMatchObject({ sessions: 1, hopeless: 1 });
    expect(summary.policies.map(({ failedSessions }) => failedSessions)).toEqual([0, 0]);
  });

  it("compares a policy that fails only in the sessions that both came through", () => {
    const summary = summaryOf(
      { file: "a", policy: "never", inputCost: 100 },
      { file: "b", policy: "never", inputCost: 900 },
      { file: "a", policy: "fails", inputCost: 90 },
      { file: "b", policy: "fails", inputCost: 1, failedAt: 0, refused: 4 },
    );
    expect(policyIn(summary, "fails")).toMatchObject({
      sessions: 1,
      failedSessions: 1,
      cost: 90,
      saving: { estimate: expect.closeTo(0.1, 12) as number },
      refused: 4,
    });
  });

  it("measures the distance to a bound without re-fetching, and passes over a bound that there is none of", () => {
    const summary = summaryOf(
      { file: "a", inputCost: 120, refetchCost: 1_000, optimumFull: 100, optimumClearOnly: 60 },
      { file: "b", inputCost: 180, optimumFull: 100, optimumClearOnly: null },
      { file: "c", inputCost: 180, optimumFull: 100, optimumClearOnly: 0 },
    );
    const { overFull, overClearOnly } = policyIn(summary, "never") ?? {};
    expect(overFull).toMatchObject({ mean: expect.closeTo(1.6, 12) as number, median: 1.8, max: 1.8 });
    expect(overClearOnly).toMatchObject({ max: 2, mean: 2 });
  });

  it("splits the money into parts that add up to it", () => {
    const { money, cost } = policyIn(summaryOf({ inputCost: 100, refetchCost: 30, cost: 145 }), "never") ?? {};
    const parts: readonly number[] = Object.values(money ?? {});
    expect(money).toMatchObject({ refetch: 30, compactionOutput: 15, headerRead: 35 });
    expect(parts.reduce((total, part) => total + part, 0)).toBeCloseTo(cost ?? 0, 9);
  });

  it("compares the recorded usage with the baseline in those sessions only that have usage and were not compacted", () => {
    const { recorded } = summaryOf(
      { file: "a", inputCost: 100, recordedCost: 80, recordedLossCost: 7 },
      { file: "b", inputCost: 500 },
      { file: "c", inputCost: 300, recordedCost: 100, compactions: 1 },
      { file: "a", policy: "rule", recordedCost: 80 },
    );
    expect(recorded).toEqual({ sessions: 1, cost: 80, lossCost: 7, baselineCost: 100, ratioMedian: 1.25 });
  });

  it("keeps price tables apart", () => {
    const tally = createTally({ roundsMin: 1, baseline: "never" });
    tally.add(figuresOf({ prices: "5m", inputCost: 1 }));
    tally.add(figuresOf({ prices: "1h", inputCost: 2 }));
    expect(tally.summaries().map(({ prices, policies }) => [prices, policies[0]?.cost])).toEqual([
      ["5m", 1],
      ["1h", 2],
    ]);
  });
});
