import { describe, expect, it } from "vitest";
import { policyCatalogue } from "../../packages/palimpsest/src/policy/policy-catalogue.ts";
import { flawsOf, recordedFiles, replayedCorpus, whyNoCorpus } from "../fixture/replay/corpus.ts";

describe.skipIf(recordedFiles.length === 0)(`replays of recorded sessions${whyNoCorpus}`, () => {
  it("refuse nothing and stay above the optima, under every policy: three of the smaller files", async () => {
    const policies = policyCatalogue().map(({ name }) => name);
    const outcomes = await replayedCorpus(recordedFiles.slice(12, 15), { policies });
    expect(outcomes).toHaveLength(3 * policies.length * 2);
    expect(flawsOf(outcomes)).toEqual([]);
  });

  it("refuse nothing where compactions are made from what was said, in small windows too, and are the same twice", async () => {
    const policies = ["never", "palimpsest", "claude-code-2026"];
    const once = () =>
      replayedCorpus(recordedFiles.slice(12, 15), { policies, windowTokens: 60_000, compaction: "extract" });
    const outcomes = await once();
    expect(flawsOf(outcomes)).toEqual([]);
    expect(outcomes.reduce((sum, { compactions }) => sum + compactions, 0)).toBeGreaterThan(0);
    expect(await once()).toEqual(outcomes);
  });

  it("are the same twice", async () => {
    const once = () => replayedCorpus(recordedFiles.slice(12, 13), { policies: ["palimpsest"], prices: ["auto"] });
    expect(await once()).toEqual(await once());
  });
});
