import { describe, expect, it } from "vitest";
import type { Block } from "../schema/block.ts";
import { entryId, messageId, tokens } from "../schema/brand.ts";
import type { Usage } from "../schema/usage.ts";
import { estimateBlock, uncalibratedPadding } from "../tokens/estimate-block.ts";
import { computeThresholds } from "../tokens/thresholds.ts";
import type { Item } from "../transcript/item.ts";
import { countContext, createBudgetCounter, shiftThresholds } from "./count-context.ts";
import type { CountingMethod } from "./policy.ts";

const text = (length: number): Block => ({ type: "text", text: "word ".repeat(length / 5) });
let made = 0;
const item = (fields: Partial<Item>): Item => {
  made += 1;
  return {
    entry: entryId(`e${made}`),
    role: "user",
    messageId: undefined,
    blocks: [text(400)],
    thinking: "kept",
    at: made,
    ...fields,
  };
};
const usage: Usage = {
  input: tokens(1_000),
  cacheRead: tokens(69_000),
  cacheWrite: tokens(30_000),
  output: tokens(500),
};
const reply = (fields: Partial<Item> = {}): Item =>
  item({ role: "assistant", messageId: messageId("m1"), usage, ...fields });

const count = (counting: CountingMethod, items: readonly Item[]): number =>
  countContext(counting, {
    items,
    shown: () => new Map(items.map(({ entry, blocks }) => [entry, blocks])),
    contextTokens: 120_000,
  });

describe("how large a policy takes the context to be", () => {
  it.each<[CountingMethod, number]>([
    ["usage", 0],
    ["usage-and-quarter-characters", 200],
    ["usage-without-writes", 120_000],
    ["usage-and-padded-estimate", 120_000],
    ["usage-and-calibrated-estimate", 120_000],
  ])("%s before anything was counted: %i", (counting, expected) => {
    expect(count(counting, [item({}), item({})])).toBe(expected);
  });

  it.each<[CountingMethod, number]>([
    ["usage", 100_500],
    ["usage-and-quarter-characters", 100_500],
    ["usage-without-writes", 70_500],
    ["usage-and-padded-estimate", 100_500 + uncalibratedPadding * estimateBlock(text(400))],
    ["usage-and-calibrated-estimate", 120_000],
  ])("%s of the last request, its reply and what came since: %d", (counting, expected) => {
    expect(count(counting, [item({}), reply(), item({})])).toBe(expected);
  });

  it("estimates results that stand between the parts of a reply, and no part of the reply", () => {
    const items = [item({}), reply({ usage: undefined }), item({}), reply(), item({})];
    const since = count("usage-and-padded-estimate", items) - 100_500;
    expect(since).toBeCloseTo(2 * uncalibratedPadding * estimateBlock(text(400)));
  });

  it("knows nothing of what was counted before a compaction", () => {
    const items = [reply(), item({ summary: true }), item({})];
    expect(count("usage", items)).toBe(0);
    expect(count("usage-and-quarter-characters", items)).toBe(300);
  });
});

it("moves the warning by as much as the threshold, and nothing else", () => {
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
  expect(shiftThresholds(thresholds, 10_000)).toEqual({ ...thresholds, compact: 177_000, warning: 157_000 });
});

it.each<[CountingMethod, number]>([
  ["usage", 500],
  ["usage-and-quarter-characters", 500],
  ["usage-without-writes", 500],
  ["usage-and-padded-estimate", 1_200],
  ["usage-and-calibrated-estimate", 1_200],
])("%s counts a result of 2,000 characters and 1,000 tokens as %i in its budgets", (counting, expected) => {
  expect(createBudgetCounter(counting, 1.2)({ tokens: 1_000, chars: 2_000 })).toBe(expected);
});
