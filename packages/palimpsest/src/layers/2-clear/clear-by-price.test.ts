import { describe, expect, it } from "vitest";
import { MadeConversation } from "../../../../../test/fixture/made-inventory.ts";
import { clearing, cleared, type StateWish, stateOf } from "../../../../../test/fixture/pipeline-state.ts";
import { CachedPrefixes } from "../../cache/cached-prefixes.ts";
import { ClearPlanner } from "../../cache/clear-planner.ts";
import { priceCompact } from "../../cache/compact-price.ts";
import { usualRates } from "../../cache/cache-rates.ts";
import { getPreset } from "../../policy/policy-catalogue.ts";
import { millis, tokens, toolUseId } from "../../schema/brand.ts";
import { clearByPrice } from "./clear-by-price.ts";

const byPrice = { staleRounds: 3, agesFrom: "last-use", patience: 1e9, horizonRounds: 20, riskWeight: 1 } as const;
const policy = clearing({ byPrice });
const made = (): MadeConversation =>
  new MadeConversation()
    .says()
    .round([{ tokens: 5_010 }])
    .round([{ tokens: 3_010 }])
    .rounds(3, "w".repeat(500));
/** 9,554 tokens are shown, which is over the limit; t2 stands behind 5,044. */
const over = (warning: number, ...live: readonly number[]): StateWish => {
  const prefixes = new CachedPrefixes();
  const written = live.map((upToTokens) => ({ upToTokens, lifetime: "5m" }) as const);
  prefixes.sent({ at: millis(0), written, refreshed: [] });
  return {
    prefixes,
    thresholds: { window: tokens(10_000), warning: tokens(warning), compact: tokens(8_000), blocking: tokens(9_000) },
  };
};
const tight = over(7_000, 5_044, 9_554);
const price = priceCompact({
  rates: usualRates["5m"],
  contextTokens: 9_000,
  fixedTokens: 0,
  cache: "warm",
  cachedTokens: 0,
  leavesTokens: 0,
  outputTokens: 0,
  lossCost: 0,
});

describe("clearing by price", () => {
  it.each<[string, StateWish, readonly string[]]>([
    ["cold, everything stale", { policy, cache: "cold" }, ["t1", "t2"]],
    ["warm, nothing that does not pay", { policy }, []],
    ["warm, what pays", { policy: clearing({ byPrice: { ...byPrice, patience: 0.1 } }) }, ["t1", "t2"]],
    ["nothing by a policy that knows no prices", { policy: getPreset("none"), cache: "cold" }, []],
    ["where there is no room, everything stale that makes it cheaply", { policy, ...tight }, ["t1", "t2"]],
    ["more where that leaves too much for the warning", { policy, ...over(6_000, 5_044, 9_554) }, ["t1", "t2"]],
    ["along what lies behind the same live prefix", { policy, ...over(7_000, 9_554) }, ["t1", "t2"]],
    [
      "that also where somebody can compact",
      { policy, ...tight, compaction: { price, rent: 0, rounds: 0 } },
      ["t1", "t2"],
    ],
    ["cold, not where clearing when idle is off", { policy, cache: "cold", isOn: (name) => name !== "clear.idle" }, []],
    [
      "cold, also where clearing by size is off",
      { policy, cache: "cold", isOn: (name) => name !== "clear.size" },
      ["t1", "t2"],
    ],
    ["no room, not where clearing by size is off", { policy, ...tight, isOn: (name) => name !== "clear.size" }, []],
  ])("takes %s", (_, wish, expected) => {
    expect(cleared(clearByPrice.propose(stateOf(made(), wish)))).toEqual(expected);
    expect(cleared(clearByPrice.propose(stateOf(made(), { ...wish, planner: new ClearPlanner() })))).toEqual(expected);
  });

  const sonnet = { inputTokenUsd: 3e-6 };
  it.each<[string, StateWish, string]>([
    [
      "cold",
      { policy, cache: "cold", moment: sonnet },
      "the cache is cold, so this costs nothing now: keeps 8,000 tokens of 2 results out of each request, about $0.08 over the next 20; reading them again would cost $0.03",
    ],
    [
      "nothing known of the cache",
      { policy, cache: "unseen" },
      "none of this is known to be in the cache: keeps 8,000 tokens of 2 results out of each request",
    ],
    [
      "warm",
      { policy: clearing({ byPrice: { ...byPrice, patience: 0.1 } }), moment: sonnet },
      "keeps 8,000 tokens of 2 results out of each request, about $0.05 over the next 20, for $0.003 now; reading them again would cost $0.03",
    ],
    [
      "forced",
      { policy, ...tight, moment: sonnet },
      "makes room: keeps 8,000 tokens of 2 results out of each request, about $0.05 over the next 20, for $0.003 now; reading them again would cost $0.03",
    ],
    [
      "cold, without a known price",
      { policy, cache: "cold" },
      "the cache is cold, so this costs nothing now: keeps 8,000 tokens of 2 results out of each request",
    ],
    [
      "warm, without a known price",
      { policy: clearing({ byPrice: { ...byPrice, patience: 0.1 } }) },
      "keeps 8,000 tokens of 2 results out of each request; 1,554 tokens behind them are written to the cache again",
    ],
  ])("gives its reason in tokens and money, %s", (_, wish, because) => {
    expect(clearByPrice.propose(stateOf(made(), wish))?.because).toBe(because);
  });

  it("does not call a cache cold of which only a later part was lost", () => {
    const state = stateOf(made(), { policy });
    state.prefixes.cut(10);
    expect(clearByPrice.propose(state)?.because).toBe(
      "none of this is in the cache, so this costs nothing now: keeps 8,000 tokens of 2 results out of each request",
    );
  });

  it.each<[string, StateWish, boolean]>([
    ["warm, may be declined", { policy: clearing({ byPrice: { ...byPrice, patience: 0.1 } }) }, true],
    ["cold, costs nothing now", { policy, cache: "cold" }, false],
    ["forced, has to be made", { policy, ...tight }, false],
  ])("a clear that is %s, and has its figures", (_, wish, isUnforced) => {
    const candidate = clearByPrice.propose(stateOf(made(), wish));
    expect(candidate?.unforcedCost !== undefined).toBe(isUnforced);
    const names = ["removesTokens", "behindTokens", "rent", "neededRent", "again", "risk"];
    expect(Object.keys(candidate?.figures ?? {})).toEqual([...names, "savedPerRound", "horizonRounds"]);
  });
});

describe("a clear that nothing forces", () => {
  const worth = (warm: number, savesMin: number): StateWish => ({
    policy: clearing({
      byPrice: { ...byPrice, patience: 0.1, worth: { windowShareMin: { warm, cold: 0.5 }, savesMin } },
    }),
    thresholds: { window: tokens(80_000), warning: tokens(60_000), compact: tokens(70_000), blocking: tokens(75_000) },
  });

  it.each<[string, StateWish, readonly string[]]>([
    ["makes the room that it must make", worth(0.1, 0), ["t1", "t2"]],
    ["is not made if it makes less", worth(0.11, 0), []],
    ["is not made if it saves too little", worth(0.1, 1e6), []],
    ["has its own minimum on a cold cache", { ...worth(0.1, 0), cache: "cold" }, []],
    [
      "is made without a minimum when its rent has paid for it, whatever the horizon would save",
      { policy: clearing({ byPrice: { ...byPrice, patience: 0.1, horizonRounds: 1, riskWeight: 0 } }) },
      ["t1", "t2"],
    ],
  ])("%s", (_, wish, expected) => {
    expect(cleared(clearByPrice.propose(stateOf(made(), wish)))).toEqual(expected);
  });

  it("takes at least what is written in any case, if a longer cut that pays makes too little room", () => {
    const { prefixes = new CachedPrefixes() } = over(60_000, 5_044);
    const minimum = { windowShareMin: { warm: 0.5, cold: 0.01 }, savesMin: 0 };
    const partly = clearing({ byPrice: { ...byPrice, patience: 0.01, worth: minimum } });
    const wish = { ...worth(0.5, 0), policy: partly, prefixes };
    expect(cleared(clearByPrice.propose(stateOf(made(), wish)))).toEqual(["t2"]);
  });

  it("is not made on a warm cache if the rule says never, and is on a cold one", () => {
    const never = clearing({ byPrice: { ...byPrice, patience: "never" } });
    expect(clearByPrice.propose(stateOf(made(), { policy: never }))).toBeUndefined();
    expect(cleared(clearByPrice.propose(stateOf(made(), { policy: never, cache: "cold" })))).toEqual(["t1", "t2"]);
  });

  it("leaves the newest failure and what the user points at; one for room takes them", () => {
    const held = new MadeConversation()
      .says()
      .round([{ tokens: 5_010, failed: true }])
      .round([{ tool: "Read", input: { file_path: "/tower/clock.ts" }, tokens: 3_010 }])
      .asks("What about clock.ts?")
      .rounds(9);
    expect(clearByPrice.propose(stateOf(held, { policy, cache: "cold" }))).toBeUndefined();
    const noRoom = { warning: tokens(1_000), compact: tokens(2_000), blocking: tokens(3_000), window: tokens(4_000) };
    expect(cleared(clearByPrice.propose(stateOf(held, { policy, thresholds: noRoom })))).toEqual(["t1", "t2"]);
  });
});

it("what pays goes although it does not make enough room", () => {
  const conversation = new MadeConversation()
    .says()
    .round([{ tokens: 14_910 }])
    .rounds(2)
    .round([{ tokens: 1_010 }])
    .rounds(1);
  const moment = { contextTokens: 187_000, fixedTokens: 187_000 - conversation.inventory.shownTokens };
  const candidate = clearByPrice.propose(stateOf(conversation, { policy, cache: "cold", moment }));
  expect(cleared(candidate)).toEqual(["t1"]);
  expect(candidate?.because).toMatch(/^the cache is cold/);
});

// Below the warning, and above it: there no cut can come down to it.
it.each([130_000, 150_000])("with %i tokens of text a full window that nobody compacts is cut seldom", (said) => {
  const conversation = new MadeConversation().says(said);
  const { inventory } = conversation;
  const prefixes = new CachedPrefixes();
  let cuts = 0;
  for (let round = 1; round <= 40; round += 1) {
    conversation.round([{ tool: "Read", tokens: 3_000 }], "w".repeat(200));
    const at = millis(20_000 * round);
    const results = cleared(clearByPrice.propose(stateOf(conversation, { policy, prefixes, moment: { at } })));
    const oldest = inventory.find(toolUseId(results[0] ?? ""));
    if (oldest !== undefined) {
      cuts += 1;
      prefixes.cut(inventory.offsetOf(oldest));
      conversation.clear(...results);
    }
    const written = [{ upToTokens: inventory.shownTokens, lifetime: "5m" } as const];
    prefixes.sent({ at, written, refreshed: [inventory.headTokens] });
  }
  expect(cuts).toBeGreaterThan(0);
  expect(cuts).toBeLessThanOrEqual(5);
});
