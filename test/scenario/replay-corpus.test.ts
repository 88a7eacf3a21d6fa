import { describe, expect, it } from "vitest";
import { policyCatalogue } from "../../src/presets/catalogue.ts";
import { flawsOf, recordedFiles, replayedCorpus, whyNoCorpus } from "../fixture/replay/corpus.ts";

describe.skipIf(recordedFiles.length === 0)(`replays of recorded sessions${whyNoCorpus}`, () => {
  it("refuse nothing and stay above the optima, under every policy: three of the smaller files", async () => {
    const policies = policyCatalogue().map(({ name }) => name);
    const outcomes = await replayedCorpus(recordedFiles.slice(12, 15), { policies });
    expect(outcomes).toHaveLength(3 * policies.length * 2);
    expect(flawsOf(outcomes)).toEqual([]);
  });

  it("are the same twice", async () => {
    const once = () => replayedCorpus(recordedFiles.slice(12, 13), { policies: ["palimpsest"], prices: ["auto"] });
    expect(await once()).toEqual(await once());
  });
});
