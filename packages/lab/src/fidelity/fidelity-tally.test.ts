import { describe, expect, it } from "vitest";
import { byKind, type FidelityOutcome, noFates } from "./fidelity-outcome.ts";
import { fidelityPlot } from "./fidelity-plot.ts";
import { FidelityTally, computeShownShare } from "./fidelity-tally.ts";

const outcome = (changes: Partial<FidelityOutcome> = {}): FidelityOutcome => ({
  file: "a.jsonl",
  policy: "palimpsest",
  window: 200_000,
  summariser: "rules",
  compaction: 1,
  round: 9,
  summary: "shared",
  userMessages: 4,
  userMessagesVerbatim: 3,
  userMessagesByReference: 1,
  facts: { ...byKind(() => noFates), commands: { shown: 3, recoverable: 1, named: 1, lost: 0 } },
  neededLater: { ...byKind(() => noFates), commands: { shown: 1, recoverable: 0, named: 0, lost: 0 } },
  tokensBefore: 100,
  tokensAfter: 40,
  ...changes,
});
const run = { policy: "palimpsest", compactions: 1 };

describe("fidelity over sessions", () => {
  it("adds facts up, and takes the mean of tokens", () => {
    const tally = new FidelityTally();
    tally.add({ outcomes: [outcome()], runs: [run] });
    const more = { ...byKind(() => noFates), commands: { shown: 0, recoverable: 0, named: 0, lost: 4 } };
    tally.add({
      outcomes: [outcome({ facts: more, tokensBefore: 300, summary: "recorded" })],
      runs: [{ ...run, failedAt: 3 }],
    });
    const { compactions, runs } = tally.figures();
    expect(compactions).toMatchObject([
      {
        compaction: 1,
        policies: [{ sessions: 2, userMessages: 8, userMessagesVerbatim: 6, tokensBefore: 200, recorded: 1 }],
      },
    ]);
    expect(compactions[0]?.policies[0]?.all).toEqual({ shown: 3, recoverable: 1, named: 1, lost: 4 });
    expect(compactions[0]?.policies[0]?.needed).toMatchObject({ shown: 2, lost: 0 });
    expect(runs).toEqual([{ policy: "palimpsest", sessions: 2, compacted: 2, compactionsMost: 1, failed: 1 }]);
  });

  it("has compactions in their order and policies in the order asked for, those without a compaction told apart", () => {
    const tally = new FidelityTally();
    const names = ["opencode", "none", "palimpsest"];
    tally.add({
      outcomes: [outcome({ compaction: 3 }), outcome(), outcome({ policy: "opencode" })],
      runs: names.map((policy) => ({ policy, compactions: policy === "none" ? 0 : 3 })),
    });
    const { compactions, runs } = tally.figures();
    expect(compactions.map(({ compaction, policies }) => [compaction, policies.map(({ policy }) => policy)])).toEqual([
      [1, ["opencode", "palimpsest"]],
      [3, ["palimpsest"]],
    ]);
    expect(runs.map(({ compacted }) => compacted)).toEqual([1, 0, 1]);
  });

  it("has no share where there is no fact", () => {
    expect(computeShownShare(noFates)).toBeUndefined();
    expect(computeShownShare({ shown: 1, recoverable: 1, named: 0, lost: 2 })).toBe(0.25);
  });

  it("is drawn with a line for each policy that compacts, and nothing of others", () => {
    const tally = new FidelityTally();
    tally.add({
      outcomes: [outcome(), outcome({ policy: "<b>" })],
      runs: [run, { policy: "<b>", compactions: 1 }, { policy: "none", compactions: 0 }],
    });
    const drawn = fidelityPlot(tally.figures(), { window: 80_000 });
    expect(drawn).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" viewBox="0 0 960 \d+"/);
    expect(drawn.match(/<polyline/g)).toHaveLength(2 * 9);
    expect(drawn).toContain("under a window of 80,000 tokens</text>");
    // Three of four commands: a quarter down from the top of the panel, and equal lines beside each other.
    expect(drawn.match(/(?<=<circle [^>]*cy=")6[0-9.]+/g)).toEqual(["64.9", "63.1"]);
    expect(drawn).toContain("&lt;b&gt;");
    expect(drawn).not.toMatch(/<b>|>none</);
  });
});
