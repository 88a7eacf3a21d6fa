import { describe, expect, it } from "vitest";
import type { LoopEvent } from "../../src/schema/event.ts";
import { say, user } from "../fixture/session.ts";
import { type ClearingAgent, clearedIn, clearingWorld } from "./support/clearing-world.ts";
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
      const { thresholds } = agent.deps.numbers();
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
});
