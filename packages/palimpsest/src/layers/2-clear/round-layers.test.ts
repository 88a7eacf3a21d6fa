import { describe, expect, it } from "vitest";
import { appended } from "../../../../../test/fixture/pipeline-state.ts";
import { folded, type Raw, says, user } from "../../../../../test/fixture/raw.ts";
import { CachedPrefixes } from "../../cache/cached-prefixes.ts";
import { Inventory } from "../../cache/inventory.ts";
import { usualRates } from "../../cache/cache-rates.ts";
import { getPreset } from "../../policy/policy-catalogue.ts";
import { entryId, millis, tokens } from "../../schema/brand.ts";
import { estimateBlock } from "../../tokens/estimate-block.ts";
import { compactWhenDue } from "../4-compact/compact-when-due.ts";
import type { PipelineState } from "../pipeline-state.ts";
import { collapseOldest } from "./collapse-oldest.ts";
import { isRerunnable } from "./is-rerunnable.ts";
import { snipLowValue } from "./snip-low-value.ts";
import { truncateOldest } from "./truncate-oldest.ts";

const call = (n: number, content: string): readonly Raw[] => [
  says(`a${n}`, `m${n}`, { type: "tool_use", id: `t${n}`, name: "Grep", input: { pattern: `p${n}` } }),
  user(`r${n}`, [{ type: "tool_result", tool_use_id: `t${n}`, content }]),
];
const many = (count: number, content: string): readonly Raw[] =>
  Array.from({ length: count }, (_, n) => call(n, content)).flat();

interface Wish {
  readonly content: string;
  readonly cache: "warm" | "cold";
  readonly contextTokens: number;
  readonly on?: readonly string[];
}

function stateOf({ content, cache, contextTokens, on = ["snip", "collapse", "compact.auto"] }: Wish): PipelineState {
  const inventory = new Inventory({ count: estimateBlock, isClearable: isRerunnable, markerTokens: 20 });
  const { items, decisions, pins } = folded([user("u"), ...many(30, content)], { watch: inventory }).projection;
  const prefixes = new CachedPrefixes();
  const at = millis(0);
  if (cache === "warm") prefixes.sent({ at, written: [{ upToTokens: 10, lifetime: "5m" }], refreshed: [] });
  return {
    policy: getPreset("claude-code-2026-all"),
    isOn: (name) => on.includes(name),
    inventory,
    prefixes,
    moment: { at, rates: usualRates["5m"], contextTokens, fixedTokens: 0, needChance: () => 0 },
    thresholds: { window: tokens(11_000), warning: tokens(5_000), compact: tokens(8_000), blocking: tokens(10_000) },
    opens: "turn",
    idleMillis: millis(0),
    sentTokens: contextTokens,
    growthTokens: contextTokens,
    roundsSinceClear: undefined,
    withheld: new Set(),
    offers: new Set(),
    items,
    decisions,
    pins,
    count: estimateBlock,
  };
}

const nothing = "No matches found";
const much = "A line that was found somewhere in the project. ".repeat(40);

describe("snip", () => {
  it.each<[string, Wish, boolean]>([
    ["on a cold cache, which it does not break", { content: nothing, cache: "cold", contextTokens: 100 }, true],
    ["not on a warm one while there is room", { content: nothing, cache: "warm", contextTokens: 4_999 }, false],
    ["on a warm one from the warning on", { content: nothing, cache: "warm", contextTokens: 5_000 }, true],
    ["not where it is off", { content: nothing, cache: "cold", contextTokens: 100, on: [] }, false],
    ["not what found something", { content: much, cache: "cold", contextTokens: 100 }, false],
  ])("is proposed %s", (_, wish, isProposed) => {
    expect(snipLowValue.propose(stateOf(wish)) !== undefined).toBe(isProposed);
  });
});

describe("collapse", () => {
  it.each<[string, Wish, boolean]>([
    ["from the warning on", { content: much, cache: "warm", contextTokens: 5_000 }, true],
    ["not before", { content: much, cache: "cold", contextTokens: 4_999 }, false],
    ["not where it is off", { content: much, cache: "cold", contextTokens: 9_000, on: [] }, false],
  ])("is proposed %s", (_, wish, isProposed) => {
    expect(collapseOldest.propose(stateOf(wish)) !== undefined).toBe(isProposed);
  });

  it("is one run at a time, the oldest, and its price is what stands behind it", () => {
    const candidate = collapseOldest.propose(stateOf({ content: much, cache: "warm", contextTokens: 6_000 }));
    expect(appended(candidate)).toMatchObject({ type: "collapse", span: { from: "a0" } });
    expect(candidate?.behindTokens).toBeCloseTo(6_000 - (candidate?.removesTokens ?? 0));
  });

  it("where it is on, automatic compaction stands back", () => {
    const price = { total: 1, removesTokens: 50_000 } as never;
    const wish = { content: much, cache: "warm", contextTokens: 109_000 } as const;
    const thresholds = {
      window: tokens(120_000),
      warning: tokens(105_000),
      compact: tokens(108_000),
      blocking: tokens(110_000),
    };
    const over = { thresholds, compaction: { price, rent: 0, rounds: 0 } };
    const due = { ...stateOf(wish), ...over };
    expect(compactWhenDue.propose(due)).toBeUndefined();
    const off = { ...stateOf({ ...wish, on: ["compact.auto"] }), ...over };
    expect(compactWhenDue.propose(off)?.because).toContain("is compacted from 108,000 on");
  });
});

describe("a result that is kept", () => {
  it("is no resident any more, and nothing that is shown gets lost by it", () => {
    const { inventory } = stateOf({ content: much, cache: "cold", contextTokens: 100 });
    const [shown, head] = [inventory.shownTokens, inventory.headTokens];
    const [first, second] = [inventory.oldest, inventory.oldest?.after];
    if (first === undefined || second === undefined) throw new Error("nothing stands");
    const offset = inventory.offsetOf(second);
    inventory.keep(first.toolUse);
    expect(inventory.oldest).toBe(second);
    expect([inventory.shownTokens, inventory.headTokens]).toEqual([shown, head + first.tokens + first.behindTokens]);
    expect(inventory.offsetOf(second)).toBe(offset);
    inventory.keep(first.toolUse);
    expect(inventory.offsetOf(second)).toBe(offset);
  });
});

describe("truncate", () => {
  it("leaves a call whose result is pinned, and takes the next", () => {
    const state = stateOf({ content: much, cache: "cold", contextTokens: 9_000 });
    const policy = { ...state.policy, truncate: { overTokens: 8_900 } };
    const taken = (...pinned: readonly string[]): unknown => {
      const candidate = truncateOldest.propose({ ...state, policy, pins: new Set(pinned.map(entryId)) });
      const entries = appended(candidate)?.["entries"];
      return Array.isArray(entries) ? entries.filter((entry: unknown) => entry !== "u") : entries;
    };
    expect(taken()).toEqual(["a0", "r0"]);
    expect(taken("r0")).toEqual(["a1", "r1"]);
  });
});
