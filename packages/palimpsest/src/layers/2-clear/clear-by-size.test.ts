import { describe, expect, it } from "vitest";
import { MadeConversation } from "../../../../../test/fixture/made-inventory.ts";
import { clearing, cleared, type StateWish, stateOf } from "../../../../../test/fixture/pipeline-state.ts";
import { getPreset } from "../../policy/policy-catalogue.ts";
import type { SizeRule } from "../policy.ts";
import { clearBySize } from "./clear-by-size.ts";

const rule: SizeRule = {
  when: "request",
  keepResults: 3,
  keepTurns: 0,
  downToTokens: 40_000,
  savesTokensMin: 20_000,
  marker: "plain",
};

/** Results of so many tokens, each in a round of its own, all in one turn. */
const results = (...sizes: readonly number[]): MadeConversation => {
  const made = new MadeConversation({ texts: "four-characters-a-token" }).says();
  for (const tokens of sizes) made.round([{ tokens: tokens + 10 }]);
  return made;
};

const proposed = (made: MadeConversation, changes: Partial<SizeRule> = {}, wish: StateWish = {}): readonly string[] =>
  cleared(clearBySize.propose(stateOf(made, { policy: clearing({ bySize: { ...rule, ...changes } }), ...wish })));

describe("clearing by size", () => {
  it.each<[string, readonly number[], Partial<SizeRule>, readonly string[]]>([
    ["takes the oldest until the rest is small enough", [30_000, 30_000, 10_000, 10_000, 10_000], {}, ["t1", "t2"]],
    ["keeps the newest three, however large", [30_000, 90_000, 90_000, 90_000], {}, ["t1"]],
    ["keeps as many as the rule says", [30_000, 90_000, 90_000], { keepResults: 1 }, ["t1", "t2"]],
    ["does nothing where that saves too little", [19_999, 20_000, 10_000, 10_001], {}, []],
    ["acts from the least saving on", [20_000, 20_000, 10_000, 10_001], {}, ["t1"]],
    ["does nothing while they are small enough", [10_000, 10_000, 10_000, 10_000], {}, []],
    [
      "with no target takes all but the newest",
      [500, 600, 700, 800, 900],
      { downToTokens: 0, savesTokensMin: 0 },
      ["t1", "t2"],
    ],
  ])("%s", (_, sizes, changes, expected) => {
    expect(proposed(results(...sizes), changes)).toEqual(expected);
  });

  it.each<[string, Partial<SizeRule>, StateWish, boolean]>([
    [
      "above the warning only, where the rule says so",
      { above: { tokens: "warning", of: "shown" } },
      { moment: { contextTokens: 147_001 } },
      true,
    ],
    ["not at it", { above: { tokens: "warning", of: "shown" } }, { moment: { contextTokens: 147_000 } }, false],
    ["by what was ever sent", { above: { tokens: 100_000, of: "sent" } }, { sentTokens: 100_001 }, true],
    ["not by what is shown then", { above: { tokens: 100_000, of: "sent" } }, { sentTokens: 100_000 }, false],
    ["before a turn", { when: "turn" }, { opens: "turn" }, true],
    ["not within one", { when: "turn" }, { opens: "nothing" }, false],
    ["not so soon after the last time", { everyRounds: 9 }, { roundsSinceClear: 8 }, false],
    ["when its rounds have passed", { everyRounds: 9 }, { roundsSinceClear: 9 }, true],
    ["the first time at once", { everyRounds: 9 }, { roundsSinceClear: undefined }, true],
    ["not where it is off", {}, { isOn: (name) => name !== "clear.size" }, false],
  ])("acts %s", (_, changes, wish, acts) => {
    expect(proposed(results(90_000, 30_000, 9_000, 9_000).says(), changes, wish).length > 0).toBe(acts);
  });

  it("its price is what survives from the oldest on; nothing on a cold cache", () => {
    const policy = clearing({ bySize: { ...rule, keepResults: 1 } });
    const made = results(60_000, 30_000);
    const { shownTokens, headTokens } = made.inventory;
    const behindTokens = shownTokens - headTokens - 60_000;
    expect(clearBySize.propose(stateOf(made, { policy }))).toMatchObject({ removesTokens: 60_000, behindTokens });
    expect(clearBySize.propose(stateOf(made, { policy, cache: "cold" }))?.behindTokens).toBe(0);
  });
});

describe("opencode's clearing", () => {
  const policy = getPreset("opencode");
  const turns = (...sizes: readonly number[]): MadeConversation => {
    const made = new MadeConversation({ texts: "four-characters-a-token" });
    for (const tokens of sizes) made.says().round([{ tokens: tokens + 10 }]);
    return made.says();
  };

  // The turn that begins now has no results: the two that are left alone are finished.
  it.each<[string, readonly number[], readonly string[]]>([
    ["leaves the last two turns and the newest 40,000 before them", [30_000, 25_000, 15_000, 90_000], ["t1"]],
    ["does not count the last two turns", [30_000, 25_000, 90_000], []],
    ["clears nothing where that is 20,000", [20_000, 40_000, 500, 500], []],
    ["clears what is more than 20,000", [20_001, 40_000, 500, 500], ["t1"]],
    ["clears all that is older, not only what is over", [9_000, 12_000, 20_000, 20_000, 500, 500], ["t1", "t2"]],
  ])("%s", (_, sizes, expected) => {
    expect(cleared(clearBySize.propose(stateOf(turns(...sizes), { policy })))).toEqual(expected);
  });
});

describe("each preset", () => {
  const made = (): MadeConversation => {
    const conversation = new MadeConversation({ texts: "four-characters-a-token" });
    for (let turn = 0; turn < 14; turn += 1) conversation.says().round([{ tokens: 10_010 }]);
    return conversation.says();
  };
  const all = made().residents;

  it.each([
    ["claude-code-2.0", { moment: { contextTokens: made().inventory.shownTokens } }, all.slice(0, 10)],
    ["claude-code-2.1", { moment: { contextTokens: made().inventory.shownTokens } }, []],
    ["claude-code-2026", {}, []],
    ["opencode", {}, all.slice(0, 8)],
    ["mask", {}, all.slice(0, 4)],
    ["none", {}, []],
    ["palimpsest", {}, []],
  ] as const)("%s clears by its own numbers", (name, wish, expected) => {
    expect(cleared(clearBySize.propose(stateOf(made(), { policy: getPreset(name), ...wish })))).toEqual(expected);
  });
});
