import { describe, expect, it } from "vitest";
import { chooseDeferred, costOfTools, type ToolSession } from "./tool-deferral.ts";

const round = (called: readonly string[] = []) => ({ input: 0, cacheRead: 10_000, cacheWrite: 0, output: 0, called });
const session = (...called: readonly (readonly string[])[]): ToolSession => ({
  user: "ann",
  at: 0,
  headerTokens: 5_000,
  rounds: called.map((names) => round(names)),
});
const tokensByTool = new Map([
  ["read", 1_000],
  ["draw", 2_000],
]);

describe("what deferring tools saves", () => {
  it("is what their definitions cost in each request, less the tool that finds them", () => {
    const row = costOfTools(session(["read"], []), { tokensByTool, deferred: new Set(["draw"]) });
    expect(row).toMatchObject({ bill: 2_000, header: 1_000, tools: 600, uncalled: 400, searches: 0 });
    expect(row.saved).toBeCloseTo(2 * (2_000 - 110) * 0.1);
  });

  it("is less than nothing if a deferred tool has to be found at once", () => {
    const row = costOfTools(session(["draw"], []), { tokensByTool, deferred: new Set(["draw"]) });
    expect([row.searches, row.saved < 0]).toEqual([1, true]);
  });

  it("begins after three sessions, with what none of them called", () => {
    const earlier = [session(["read"]), session([]), session(["read"])];
    expect([...chooseDeferred(earlier.slice(1), ["read", "draw"])]).toEqual([]);
    expect([...chooseDeferred(earlier, ["read", "draw"])]).toEqual(["draw"]);
  });
});
