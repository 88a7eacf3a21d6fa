import { describe, expect, it } from "vitest";
import { call, chained, result, says, text, user } from "../../../../../test/fixture/raw.ts";
import { entryId, tokens } from "../../schema/brand.ts";
import { toItem } from "../../transcript/item.ts";
import { pinsBudget, type PinsReport, reportPins } from "./compaction-budgets.ts";

const items = chained([
  user("short"),
  user("long"),
  says("reply", "m", text("x"), call("t1")),
  result("answer", "t1"),
]).flatMap((entry, at) => toItem(entry, { at, origin: "ours" }) ?? []);
/** A hundred tokens a block. */
const report = (budget: number, ...pins: string[]): PinsReport =>
  reportPins({ items, pins: new Set(pins.map(entryId)), budgetTokens: tokens(budget), count: () => 100 });

describe("pins within a budget", () => {
  it("is a tenth of the window", () => {
    expect(pinsBudget(200_000)).toBe(20_000);
  });

  it("a pinned result counts with the reply that it answers, and nothing counts twice", () => {
    expect(report(1_000, "answer")).toEqual({
      pins: [{ entry: "answer", tokens: 300 }],
      tokens: 300,
      budgetTokens: 1_000,
    });
    expect(report(1_000, "answer", "reply").tokens).toBe(300);
  });

  it("a pin that the view no longer shows counts for nothing", () => {
    expect(report(0, "gone")).toEqual({ pins: [], tokens: 0, budgetTokens: 0 });
  });

  it("over it, one line names the largest first, and every pin is still listed", () => {
    const over = report(350, "short", "answer", "long");
    expect(over.pins.map(({ entry }) => entry)).toEqual(["answer", "short", "long"]);
    expect(over.warning).toBe(
      "What is pinned has about 500 tokens, more than the 350 there are for pins. The largest: answer (300), short (100), long (100)",
    );
    expect(report(500, "short", "answer", "long").warning).toBeUndefined();
  });
});
