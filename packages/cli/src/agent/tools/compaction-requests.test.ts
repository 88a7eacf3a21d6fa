import { describe, expect, it } from "vitest";
import { openedForTest, testDeps } from "../../../../../test/fixture/session.ts";
import { createCompactionRequests, openCompactionRequests } from "./equip-session.ts";
import { freezeBaseline } from "../system-prompt/freeze-baseline.ts";

describe("the agent's request for a compaction", () => {
  it("is given out once, and of several the newest", () => {
    const asks = createCompactionRequests(() => true);
    expect(asks.take()).toBeUndefined();
    expect(asks.request("first")).toEqual({ kind: "taken" });
    asks.request("second");
    expect(asks.take()).toEqual({ note: "second" });
    expect(asks.take()).toBeUndefined();
  });

  it("is refused while the switch is off, and one that waited is dropped", () => {
    let isOn = true;
    const asks = createCompactionRequests(() => isOn);
    asks.request("before");
    isOn = false;
    expect(asks.request("after")).toMatchObject({ kind: "refused" });
    expect(asks.take()).toBeUndefined();
    isOn = true;
    expect(asks.take()).toBeUndefined();
  });
});

describe("who can ask", () => {
  async function sessionWith(...tools: readonly string[]) {
    const deps = testDeps();
    const session = await openedForTest(deps);
    const now = { model: "a", betas: [], tools: tools.map((name) => ({ name })), system: [] };
    if (tools.length > 0) await freezeBaseline(deps, { session, now });
    return (model: string, state: "on" | "off") =>
      openCompactionRequests(deps, { session, model, isOn: () => state === "on" });
  }

  it.each([
    ["a session that begins", [], "a", "on", true],
    ["one that was begun with the tool", ["read", "compact"], "a", "on", true],
    ["one that was begun without it: its requests stay as they are", ["read"], "a", "on", false],
    ["one that was begun without it, where another model is asked for the first time", ["read"], "b", "on", true],
    ["none while the switch is off", ["read", "compact"], "a", "off", false],
  ] as const)("%s", async (_, tools, model, state, expected) => {
    const asks = await sessionWith(...tools);
    expect((await asks(model, state)) !== undefined).toBe(expected);
  });
});
