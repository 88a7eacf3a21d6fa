import { describe, expect, it } from "vitest";
import { MadeConversation } from "../../../../../test/fixture/made-inventory.ts";
import { stateOf } from "../../../../../test/fixture/pipeline-state.ts";
import type { CompactRule } from "../policy.ts";
import { priceCompactionNow } from "./compact-when-due.ts";

const rule: CompactRule = { call: "fork", restores: "files", lastRung: "extract" };
const made = new MadeConversation().says(100_000).rounds(2);
const now = stateOf(made);
const size = { outputTokens: 1_000, leavesTokens: 5_000 };
const shown = made.inventory.shownTokens;

const priced = (changes: Partial<Parameters<typeof priceCompactionNow>[0]> = {}) =>
  priceCompactionNow({ ...now, rule, size, keptTokens: 0, rent: 7, rounds: 3, ...changes });

describe("what compacting costs now", () => {
  it("a fork reads the context from a warm cache, a plain call sends it anew", () => {
    expect(priced().price.readCost).toBeCloseTo(0.1 * shown);
    expect(priced({ rule: { ...rule, call: "plain" } }).price.readCost).toBeCloseTo(shown);
  });

  it("what is kept is not removed, and is written again", () => {
    const [less, more] = [priced(), priced({ keptTokens: 2_000 })];
    expect(less.price.removesTokens - more.price.removesTokens).toBe(2_000);
    expect(more.price.writeCost - less.price.writeCost).toBeCloseTo(1.15 * 2_000);
  });

  it("the rule says what summaries lose; without it they lose nothing", () => {
    expect(priced({ rule: { ...rule, lossCost: 300 } }).price.lossCost).toBe(300);
    expect(priced().price.lossCost).toBe(0);
  });

  it("rent is passed on as it was reckoned", () => {
    expect(priced().rent).toBe(7);
  });
});
