import { writeFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import type { Agent } from "../../packages/cli/src/agent/agent.ts";
import type { LoopEvent } from "../../packages/palimpsest/src/schema/loop-event.ts";
import {
  compactedIn,
  endOf,
  eventsOf,
  expectAccepted,
  expectOnlyTrueWords,
  lastRequest,
  saidIn,
} from "./support/compaction-checks.ts";
import { type CompactionWorld, compactionWorld, taskText } from "./support/compaction-world.ts";
import { fillSession, type Shape } from "./support/filled-session.ts";
import { fastClock } from "./support/fast-waits.ts";
import type { SummaryAnswer } from "./support/summary-answers.ts";
import { refused } from "./support/whole-agent.ts";

vi.mock(import("node:timers/promises"), async (original) =>
  (await import("./support/fast-waits.ts")).fastWaits(await original()),
);

const windowTokens = 40_000;
const goOn = "Go on, CODE-NEXT.";

interface Filled {
  readonly share: number;
  readonly shape?: Shape;
  readonly windowTokens?: number;
}

/** A session of so many windows, opened again by an agent for which it is too much. */
async function filled(world: CompactionWorld, { share, shape = "work", ...over }: Filled): Promise<Agent> {
  const begun = await world.open();
  const tokens = share * (over.windowTokens ?? windowTokens);
  world.said.push(...(await fillSession(begun.session, { tokens, shape, model: world.model })));
  await begun.close();
  return world.open({ kind: "resume", id: begun.session.id });
}

/** The next message is answered, in requests that the server takes. */
async function expectAlive(world: CompactionWorld, agent: Agent): Promise<readonly LoopEvent[]> {
  const events = await world.turn(agent, { text: goOn, rounds: 3 });
  expect(endOf(events)).toBe("answered");
  expect(saidIn(lastRequest(world)).filter((text) => text === goOn)).toHaveLength(1);
  expectOnlyTrueWords(lastRequest(world), world.said);
  expectAccepted(world, agent);
  return events;
}

const first = taskText(0);

describe("1. Never dead", () => {
  it.each([0.9, 1, 1.5, 10])(
    "a session of %f windows without a tool result: the next request is valid and fits",
    async (share) => {
      const world = await compactionWorld({ windowTokens });
      const agent = await filled(world, { share, shape: "no-results" });
      const events = await expectAlive(world, agent);
      expect(compactedIn(events).length).toBeGreaterThan(0);
      expect(saidIn(lastRequest(world))).toContain(first);
      await agent.close();
    },
  );

  it.each<[string, Shape]>([
    ["tool results in every turn", "work"],
    ["one turn larger than the window", "one-message"],
    ["one tool loop that spans everything", "tool-loop"],
  ])("%s: the next request is valid and fits", async (_, shape) => {
    const world = await compactionWorld({ windowTokens });
    const agent = await filled(world, { share: 1.5, shape });
    const events = await expectAlive(world, agent);
    expect(compactedIn(events).length).toBeGreaterThan(0);
    await agent.close();
  });

  it("a window of 8K, summaries included: every request fits", async () => {
    const world = await compactionWorld({ windowTokens: 10_000, wordsPerRound: 20, linesPerFile: 12 });
    const agent = await filled(world, { share: 4, windowTokens: 8_000 });
    await expectAlive(world, agent);
    await agent.close();
  });

  it("a switch from a model of 1M to one of 128K just before: the next request fits the new one", async () => {
    const other = "claude-haiku-4-5";
    const world = await compactionWorld({ windowTokens: 1_000_000, variables: { PALIMPSEST_CONTEXT_TOKENS: "" } });
    await mkdir(world.home, { recursive: true });
    await writeFile(
      join(world.home, "settings.json"),
      JSON.stringify({ models: [{ id: other, windowTokens: 128_000 }] }),
    );
    const begun = await world.open();
    world.said.push(
      ...(await fillSession(begun.session, { tokens: 200_000, shape: "no-results", model: world.model })),
    );
    await world.turn(begun, { text: taskText(900), rounds: 1 });
    await begun.close();
    const agent = await world.open({ kind: "resume", id: begun.session.id }, { model: other });
    const events = await expectAlive(world, agent);
    expect(compactedIn(events).length).toBeGreaterThan(0);
    for (const { tokens } of eventsOf(events, "request-start")) expect(tokens).toBeLessThan(128_000);
    await agent.close();
  });

  it("a reply that breaks off where the server's window ends, of which nobody knew: compacted, and the turn goes on", async () => {
    const world = await compactionWorld({ windowTokens, believedTokens: 200_000 });
    const agent = await world.open();
    await world.turn(agent, { text: first, rounds: 10 });
    world.worker.instead.push([{ type: "text", text: "on and on ".repeat(20_000) }]);
    const events = await world.turn(agent, { text: goOn, rounds: 3 });
    expect(eventsOf(events, "reply-end")[0]?.stopReason).toBe("model_context_window_exceeded");
    expect(compactedIn(events)).toMatchObject([{ cause: "overflow" }]);
    expect(endOf(events)).toBe("answered");
    expect(saidIn(lastRequest(world))).toEqual(world.said);
    // The fork goes the same way as the request before it; from its refusal on the window is known.
    expect(refused(world.seen).length).toBeLessThanOrEqual(1);
    await agent.close();
  });

  it.each<[SummaryAnswer]>([["429"], ["500"], ["times-out"], ["hangs"]])(
    "a summariser that always answers %s: a valid smaller request comes out, the state is degraded, the next message is accepted",
    async (answer) => {
      const world = await compactionWorld({ windowTokens });
      world.summariser.answers = [answer];
      fastClock();
      const agent = await filled(world, { share: 1.2, shape: "no-results" });
      const events = [...(await expectAlive(world, agent))];
      expect(compactedIn(events).map(({ path }) => path)).toContain("extractive");
      for (let task = 500; task < 503; task += 1) {
        const more = await world.turn(agent, { text: taskText(task), rounds: 12 });
        expect(endOf(more)).toBe("answered");
        events.push(...more);
      }
      expect(eventsOf(events, "compaction-failed").map(({ state }) => state)).toContain("degraded");
      expectAccepted(world, agent);
      await agent.close();
    },
  );
});
