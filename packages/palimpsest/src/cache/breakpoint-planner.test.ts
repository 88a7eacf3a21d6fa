import { describe, expect, it } from "vitest";
import { call, folded, type Raw, result, says, user } from "../../../../test/fixture/raw.ts";
import { isRerunnable } from "../layers/2-clear/is-rerunnable.ts";
import type { Block } from "../schema/block.ts";
import { millis } from "../schema/brand.ts";
import { estimateBlock } from "../tokens/estimate-block.ts";
import type { Fold } from "../transcript/fold.ts";
import { Inventory } from "./inventory.ts";
import type { BreakpointStrategy } from "./breakpoint.ts";
import { BreakpointPlanner, type PlannedBreakpoints } from "./breakpoint-planner.ts";
import { usualRates } from "./cache-rates.ts";

const big = "words of a result that is long enough to be cleared ".repeat(40);
const round = (n: number): readonly Raw[] => [says(`a${n}`, `m${n}`, call(`t${n}`)), result(`r${n}`, `t${n}`, big)];
const minute = 60_000;

function told(...raws: readonly Raw[]): { readonly fold: Fold; readonly inventory: Inventory } {
  const inventory = new Inventory({ count: estimateBlock, isClearable: isRerunnable, markerTokens: 20 });
  return { fold: folded(raws, { watch: inventory }), inventory };
}

const planOf = (
  marks: BreakpointPlanner,
  raws: readonly Raw[],
  way: BreakpointStrategy = "planned",
): PlannedBreakpoints => {
  const { fold, inventory } = told(...raws);
  return marks.plan({
    inventory,
    messages: fold.messages,
    marks: way,
    at: millis(0),
    fixedTokens: 0,
    rates: undefined,
  });
};

describe("where a request is marked", () => {
  it.each<[string, readonly Raw[], object | undefined]>([
    ["at the block before the oldest result", [user("u"), ...round(1), ...round(2)], { message: 1, at: 0 }],
    [
      "within its message, where another block stands before it",
      [
        user("u"),
        says("a", "m", call("s"), call("t")),
        user("r", [
          { type: "tool_result", tool_use_id: "s", content: "short" },
          { type: "tool_result", tool_use_id: "t", content: big },
        ]),
      ],
      { message: 2, at: 0 },
    ],
    ["nowhere, where nothing can be cleared", [user("u")], undefined],
  ])("its frontier: %s", (_, raws, place) => {
    const { frontier, upToTokens } = planOf(new BreakpointPlanner("5m"), raws);
    expect(frontier).toEqual(place === undefined ? undefined : { part: "messages", ...place });
    expect(upToTokens).toHaveLength(place === undefined ? 1 : 2);
  });

  it("there is no frontier where the block before the oldest result can't be marked", () => {
    const { fold, inventory } = told(user("u"), ...round(1));
    const thinking: Block = { type: "thinking", thinking: "A thought.", signature: "s" };
    const messages = fold.messages.map((one) => (one.role === "assistant" ? { ...one, content: [thinking] } : one));
    const plan = { inventory, messages, marks: "planned", at: millis(0), fixedTokens: 0, rates: undefined } as const;
    expect(new BreakpointPlanner("5m").plan(plan).upToTokens).toEqual([inventory.shownTokens]);
  });

  it("a frontier that was found once is found again where it has moved", () => {
    const marks = new BreakpointPlanner("5m");
    planOf(marks, [user("u"), ...round(1)]);
    expect(
      planOf(marks, [user("u"), says("b", "n", { type: "text", text: "Yes." }), user("v"), ...round(1)]).frontier,
    ).toMatchObject({ message: 3 });
  });

  it("only a way that plans has one, or chooses how long it lives", () => {
    const marks = new BreakpointPlanner("5m");
    const raws = [user("u"), ...round(1)];
    for (let sent = 0; sent < 30; sent += 1) marks.sent(planOf(marks, raws), millis(sent * 10 * minute));
    const { fold, inventory } = told(...raws);
    const asked = { inventory, messages: fold.messages, at: millis(291 * minute), fixedTokens: 0, rates: usualRates };
    expect(marks.plan({ ...asked, marks: "planned" }).lifetime).toBe("1h");
    expect(marks.plan({ ...asked, marks: "system-and-last" })).toMatchObject({ lifetime: "5m", frontier: undefined });
  });
});

describe("what a request leaves", () => {
  const sent = (...requests: readonly (readonly [minutes: number, ...upToTokens: number[]])[]): BreakpointPlanner => {
    const marks = new BreakpointPlanner("5m");
    for (const [minutes, ...upToTokens] of requests)
      marks.sent({ lifetime: "5m", frontier: undefined, upToTokens }, millis(minutes * minute));
    return marks;
  };

  it("both its marks can be read", () => {
    expect(sent([0, 100, 900]).prefixes.liveEnds(millis(minute))).toEqual([100, 900]);
  });

  it("keeps alive the frontier and where the request before it ended, and nothing in between", () => {
    const { prefixes } = sent([0, 100, 500], [2, 100, 700], [4, 100, 900]);
    expect(prefixes.liveEnds(millis(8 * minute))).toEqual([100, 700, 900]);
  });

  it("a cut takes what lies behind it, and the end of the last request with it", () => {
    const marks = sent([0, 100, 900]);
    marks.cut(500);
    expect(marks.prefixes.liveEnds(millis(minute))).toEqual([100]);
    marks.sent({ lifetime: "5m", frontier: undefined, upToTokens: [600] }, millis(4 * minute));
    expect(marks.prefixes.liveEnds(millis(6 * minute))).toEqual([600]);
  });
});
