import { describe, expect, it } from "vitest";
import type { LoopEvent } from "../../packages/palimpsest/src/schema/loop-event.ts";
import { say, user } from "../fixture/session.ts";
import { type ClearingAgent, clearedIn, clearingWorld } from "./support/clearing-world.ts";
import { compactedIn, endOf, eventsOf, expectAccepted } from "./support/compaction-checks.ts";
import { compact, compactionWorld, taskText } from "./support/compaction-world.ts";
import { refused } from "./support/whole-agent.ts";

const window = 40_000;

/** What is pinned is by itself larger than the trigger, so that nothing the layers may do brings the context below it. */
async function overTheTrigger(policy: string): Promise<{
  readonly agent: ClearingAgent;
  readonly events: readonly LoopEvent[];
  readonly refusals: readonly string[];
}> {
  const world = clearingWorld();
  const agent = await world.agent("create", {
    flags: [
      ["policy", policy],
      ["context-tokens", String(window)],
    ],
  });
  const pinned = await say(agent.session, user("A rule that everybody keeps to. ".repeat(2900)));
  await agent.session.append({ type: "pin", entry: pinned });
  const events: LoopEvent[] = [];
  for (let nth = 0; nth < 50; nth += 1) events.push(...(await agent.turn(`read 1 × ${nth % 2 === 0 ? 24 : 1}`)));
  return { agent, events, refusals: refused(world.seen) };
}

/** Not since it pays, but since there is no room. */
const forcedIn = (events: readonly LoopEvent[]): ReturnType<typeof clearedIn> =>
  clearedIn(events).filter(({ because }) => because.startsWith("no room"));

describe("5. No thrash", () => {
  it("at the limit, with room for a few rounds: what is cleared there lasts for many", async () => {
    const world = clearingWorld();
    const agent = await world.agent("create", {
      flags: [
        ["context-tokens", "200000"],
        ["off", "compact.auto"],
      ],
    });
    await say(agent.session, user("A rule that everybody keeps to. ".repeat(16_000)));
    const events = await agent.turn("read 40 × 165 saying 90");
    expect(events.at(-1)).toMatchObject({ reason: "answered" });
    expect(forcedIn(events).length).toBeLessThanOrEqual(5);
    expect(refused(world.seen)).toEqual([]);
  });

  it.each(["palimpsest"])(
    "%s, with more pinned than fits below the trigger: in 50 turns hardly a clearing that does not pay, each frees something, and one event that names the largest items",
    async (policy) => {
      const { agent, events, refusals } = await overTheTrigger(policy);
      const { thresholds } = agent.deps.settings();
      expect(agent.conversation.line.usedTokens).toBeGreaterThan(thresholds.limit);
      const cleared = clearedIn(events);
      expect(cleared.length).toBeGreaterThan(0);
      expect(forcedIn(events).length).toBeLessThanOrEqual(3);
      for (const { tokensSaved } of cleared) expect(tokensSaved).toBeGreaterThan(100);
      const full = events.filter((event) => event.kind === "no-headroom");
      expect(full).toHaveLength(1);
      const [largest] = full[0]?.largest ?? [];
      expect(largest?.what).toContain("human");
      expect(largest?.tokens).toBeGreaterThan(window / 2);
      expect(new Set(events.flatMap((event) => (event.kind === "turn-end" ? [event.reason] : [])))).toEqual(
        new Set(["answered"]),
      );
      expect(refusals).toEqual([]);
    },
  );

  it("pins, system and tools alone over the trigger: in 50 turns at most 2 calls for a summary, and one event that names the largest items", async () => {
    const world = await compactionWorld({ windowTokens: window, wordsPerRound: 10, linesPerFile: 10 });
    const agent = await world.open();
    const pinned = await say(agent.session, user("A rule that everybody keeps to. ".repeat(2600)));
    await agent.session.edit({ drafts: [{ type: "pin", entry: pinned }], cause: "asked", nature: "reduced" });
    const events: LoopEvent[] = [];
    for (let task = 1; task <= 50; task += 1)
      events.push(...(await world.turn(agent, { text: taskText(task), rounds: task % 10 === 0 ? 1 : 0 })));
    expect(new Set(eventsOf(events, "turn-end").map(({ reason }) => reason))).toEqual(new Set(["answered"]));
    expect(world.summariser.asked.length).toBeLessThanOrEqual(2);
    const [full, ...more] = eventsOf(events, "no-headroom");
    expect(more).toEqual([]);
    expect(full?.largest[0]?.tokens).toBeGreaterThan(window / 2);
    expectAccepted(world, agent);
    await agent.close();
  });

  it("a summary that is not smaller than what it stands for is discarded", async () => {
    const world = await compactionWorld({ windowTokens: 200_000, wordsPerRound: 10, linesPerFile: 4 });
    world.summariser.answers = ["three-times-too-long"];
    const agent = await world.open();
    await world.turn(agent, { text: taskText(1), rounds: 2 });
    const before = JSON.stringify(agent.session.view().messages);
    const { events, committed } = await compact(agent);
    expect(world.summariser.asked.length).toBeGreaterThan(0);
    expect(compactedIn(events)).toEqual([]);
    expect(committed).toMatchObject({ kind: "failed", reason: "still_over" });
    expect(JSON.stringify(agent.session.view().messages)).toBe(before);
    expect(JSON.stringify(agent.session.view().messages)).not.toContain("was looked at, and again");
    await agent.close();
  });

  it("the trigger never reads a count from before the compaction: behind one there is room for rounds, and each starts above the threshold or since it pays", async () => {
    const world = await compactionWorld({ windowTokens: window });
    const agent = await world.open();
    const events: LoopEvent[] = [];
    for (let task = 1; task <= 6; task += 1)
      events.push(...(await world.turn(agent, { text: taskText(task), rounds: 12 })));
    expect(endOf(events)).toBe("answered");
    expect(compactedIn(events).length).toBeGreaterThan(1);
    let requests = Infinity;
    let after = 0;
    for (const event of events) {
      if (event.kind === "request-start") requests += 1;
      if (event.kind === "compaction-start") {
        expect(requests).toBeGreaterThan(3);
        expect(event.tokens).toBeGreaterThan(after + 3_000);
      }
      if (event.kind !== "compacted") continue;
      requests = 0;
      after = event.tokensAfter;
      expect(event.tokensAfter).toBeLessThan(event.tokensBefore);
    }
    await agent.close();
  });
});
