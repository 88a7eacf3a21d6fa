import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import {
  compactedIn,
  endOf,
  expectAccepted,
  expectOnlyTrueWords,
  lastRequest,
  saidIn,
} from "./support/compaction-checks.ts";
import { compact, compactionWorld, order, taskText } from "./support/compaction-world.ts";
import { fastClock } from "./support/fast-waits.ts";
import type { SummaryAnswer } from "./support/summary-answers.ts";

vi.mock(import("node:timers/promises"), async (original) =>
  (await import("./support/fast-waits.ts")).fastWaits(await original()),
);

const faults: readonly (readonly [string, SummaryAnswer])[] = [
  ["hangs", "hangs"],
  ["refuses", "refusal"],
  ["calls tools", "tool-call"],
  ["answers nonsense", "nonsense"],
  ["obeys instructions that stand in the history", "obeys-the-history"],
];

describe("a summariser that fails", () => {
  it.each(faults)(
    "%s, by itself at the threshold: the session goes on and the next message is accepted",
    async (_, answer) => {
      const world = await compactionWorld();
      world.summariser.answers = [answer];
      if (answer === "hangs") fastClock();
      const agent = await world.open();
      for (let task = 1; task <= 3; task += 1) {
        const events = await world.turn(agent, { text: taskText(task), rounds: 14 });
        expect(endOf(events)).toBe("answered");
      }
      expect(world.summariser.asked.length).toBeGreaterThan(0);
      expect(saidIn(lastRequest(world))).toEqual(world.said);
      expectOnlyTrueWords(lastRequest(world), world.said);
      expectAccepted(world, agent);
      expect(existsSync(join(world.work, "obeyed.txt"))).toBe(false);
      await agent.close();
    },
  );

  it.each(faults)(
    "%s, asked by hand: what comes of it is said, and the next message is accepted",
    async (_, answer) => {
      const world = await compactionWorld();
      world.summariser.answers = [answer];
      if (answer === "hangs") fastClock();
      const agent = await world.open();
      await world.turn(agent, { text: taskText(1), rounds: 14 });
      expect(JSON.stringify(world.seen.at(-1)?.body)).toContain(order);
      const { events, committed } = await compact(agent);
      expect(committed.kind).toBe("committed");
      const [compacted, ...more] = compactedIn(events);
      expect(more).toEqual([]);
      expect(compacted?.path).toBe("extractive");
      expect(compacted?.instead).toMatch(/\S/);
      expect(endOf(await world.turn(agent, { text: taskText(2), rounds: 1 }))).toBe("answered");
      expectAccepted(world, agent);
      expect(existsSync(join(world.work, "obeyed.txt"))).toBe(false);
      await agent.close();
    },
  );

  it("an abort while it hangs: nothing is written, and the next message is accepted", async () => {
    const world = await compactionWorld();
    world.summariser.answers = ["hangs"];
    const agent = await world.open();
    await world.turn(agent, { text: taskText(1), rounds: 8 });
    const before = JSON.stringify(agent.session.view().messages);
    const leave = new AbortController();
    const asked = compact(agent, { signal: leave.signal });
    setTimeout(() => leave.abort(), 100);
    expect((await asked).committed).toMatchObject({ kind: "failed", reason: "aborted" });
    expect(JSON.stringify(agent.session.view().messages)).toBe(before);
    expect(endOf(await world.turn(agent, { text: taskText(2), rounds: 1 }))).toBe("answered");
    await agent.close();
  });
});
