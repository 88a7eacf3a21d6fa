import { describe, expect, it } from "vitest";
import type { LoopEvent } from "../../packages/palimpsest/src/schema/loop-event.ts";
import { compactedIn, endOf, eventsOf } from "./support/compaction-checks.ts";
import { compact, compactionWorld, taskText } from "./support/compaction-world.ts";
import { refused } from "./support/whole-agent.ts";

describe("9. Window and trigger: compaction", () => {
  it("the trigger is checked between the tool steps of one long turn", async () => {
    const world = await compactionWorld();
    const agent = await world.open();
    const events = await world.turn(agent, { text: taskText(1), rounds: 60 });
    expect(endOf(events)).toBe("answered");
    expect(compactedIn(events).length).toBeGreaterThan(1);
    for (const { tokens } of eventsOf(events, "request-start")) expect(tokens).toBeLessThan(40_000);
    await agent.close();
  });

  it("switched off means zero compactions in a session that goes over every threshold", async () => {
    const world = await compactionWorld();
    const agent = await world.open({ kind: "new" }, { flags: [["off", "compact.auto"]] });
    const events: LoopEvent[] = [];
    for (let task = 1; task <= 4; task += 1)
      events.push(...(await world.turn(agent, { text: taskText(task), rounds: 15 })));
    expect(endOf(events)).toBe("over-limit");
    expect(events.filter(({ kind }) => kind.startsWith("compact"))).toEqual([]);
    expect(world.summariser.asked).toEqual([]);
    // By hand it runs all the same, and the session is alive again.
    expect((await compact(agent)).committed.kind).toBe("committed");
    expect(endOf(await world.turn(agent, { text: taskText(9), rounds: 1 }))).toBe("answered");
    await agent.close();
  });

  it("an error of a real call teaches the window, once, and the retry fits", async () => {
    const world = await compactionWorld({ windowTokens: 40_000, believedTokens: 200_000 });
    const agent = await world.open();
    const events = await world.turn(agent, { text: taskText(1), rounds: 40 });
    expect(endOf(events)).toBe("answered");
    expect(compactedIn(events).map(({ cause }) => cause)).toContain("overflow");
    await agent.close();
    const again = await world.open({ kind: "resume", id: agent.session.id });
    expect(endOf(await world.turn(again, { text: taskText(2), rounds: 20 }))).toBe("answered");
    expect(refused(world.seen)).toHaveLength(1);
    expect(refused(world.seen)[0]).toContain("40000 maximum");
    await again.close();
  });

  it("a compaction by hand says why not where there is nothing to compact", async () => {
    const world = await compactionWorld();
    const agent = await world.open();
    expect((await compact(agent)).committed).toMatchObject({
      kind: "failed",
      reason: "nothing_to_compact",
      message: "There is nothing to compact yet.",
    });
    expect(world.summariser.asked).toEqual([]);
    await agent.close();
  });
});
