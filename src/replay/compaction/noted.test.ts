import { describe, expect, it } from "vitest";
import { madeRecording } from "../../../test/fixture/replay/made-recording.ts";
import { Inventory } from "../../cache/inventory.ts";
import { isRerunnable } from "../../layers/2-clear/clearable.ts";
import { presetOf } from "../../presets/catalogue.ts";
import { entryId, tokens } from "../../schema/brand.ts";
import { thresholdsOf } from "../../tokens/thresholds.ts";
import { replayWorld } from "../replay-world.ts";
import { ReplayedView } from "../replayed-view.ts";
import type { Compactions, SummariseInput } from "./compactions.ts";
import { ExtractedCompactions } from "./extracted.ts";
import { standInCompactions } from "./stand-in.ts";

const policy = presetOf("palimpsest");
const world = replayWorld(madeRecording([{}, { said: 7 }, { said: 8 }, { said: 9 }]));
const thresholds = thresholdsOf({
  rule: policy.thresholds,
  window: tokens(200_000),
  outputTokensMax: tokens(32_000),
  autoCompact: "on",
});

/** Everything is said; the last two messages stay. */
function made(compactions: Compactions) {
  const inventory = new Inventory({ count: world.tokensOf, isClearable: isRerunnable, markerTokens: 20 });
  const view = new ReplayedView({ watch: inventory });
  for (const { before, reply } of world.recording.rounds) {
    view.say(before);
    compactions.heard(before);
    view.say(reply);
    compactions.heard(reply);
  }
  return compactions.make(view, { kept: view.items.slice(-2), notesTokens: 4_000 });
}

describe("a compaction whose summary is the notes", () => {
  it("of a fixed size has the notes in place of the summary, beside what is restored, and no output", () => {
    const compacted = made(standInCompactions({ world, policy, thresholds }));
    expect(compacted).toMatchObject({ kept: [entryId("u3"), entryId("a3")], outputTokens: 0 });
    expect(compacted?.summary.map((block) => world.tokensOf(block))).toEqual([12_000]);
  });

  it("of what was said is summarised without what stays, and no output is reckoned with", () => {
    const asked: SummariseInput[] = [];
    const summarise = (input: SummariseInput): string => {
      asked.push(input);
      return "What the notes say.";
    };
    const compactions = new ExtractedCompactions({ world, policy, thresholds, summarise });
    const before = compactions.size.outputTokens;
    expect(made(compactions)).toMatchObject({ kept: [entryId("u3"), entryId("a3")], outputTokens: 0 });
    const words = JSON.stringify(asked.map(({ messages }) => messages));
    expect(words).toContain("user 2");
    expect(words).not.toContain("user 3");
    // The next one may have to be asked for: what it writes is not known from this one.
    expect(compactions.size.outputTokens).toBe(before);
  });
});
