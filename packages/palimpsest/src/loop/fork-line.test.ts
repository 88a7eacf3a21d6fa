import { describe, expect, it } from "vitest";
import { done, looks, type Scene, signal, staged, task } from "../../../../test/fixture/forked.ts";
import { handClock } from "../../../../test/fixture/hand-clock.ts";
import { says } from "../../../../test/scenario/support/simulated.ts";
import { roundCharsMax } from "../layers/1-offload/limits.ts";
import type { Block, Message } from "../schema/block.ts";
import { millis } from "../schema/brand.ts";
import type { Move, PlannedReply } from "@palimpsest/simulator/internal/responder/responder";

const blocksOf = (messages: readonly Message[]): readonly Block[] => messages.flatMap(({ content }) => content);

/** One turn along the session, and one along a fork that begins behind a first turn. */
const lines = [
  [
    "a session",
    async (scene: Scene) => {
      const { agent, session, log } = await staged(scene);
      await agent.turn("Go.");
      return { messages: session.view().messages, log };
    },
  ],
  [
    "a fork",
    async (scene: Scene) => {
      const { agent, log, forks } = await staged({ ...scene, plays: [{ move: done }, ...scene.plays] });
      await agent.turn("Begin.");
      const outcome = await forks.run(task("Go."), signal);
      return { messages: outcome.kind === "answered" ? outcome.said : [], log };
    },
  ],
] as const;

describe.each(lines)("along %s", (_, along) => {
  it("a reply that is asked for again replaces the broken one, calls and all", async () => {
    const move: Move = { kind: "say", blocks: [...says("First part."), looks(1), ...says("The rest.")] };
    const again: Move = { kind: "say", blocks: [...says("First part."), looks(2)] };
    const plays: readonly PlannedReply[] = [
      { move, fault: { kind: "break", afterEvents: 12 } },
      { move: again },
      { move: done },
    ];
    const { messages, log } = await along({ plays });
    expect(messages.map(({ content }) => content.map(({ type }) => type))).toEqual([
      ["text"],
      ["text", "tool_use"],
      ["tool_result"],
      ["text"],
    ]);
    expect(log.runs).toEqual(['look {"n":2}']);
  });

  it("results that are too much together are offloaded before they are sent", async () => {
    const calls: Move = { kind: "say", blocks: [1, 2, 3, 4, 5, 6].map((n) => looks(n)) };
    const act = () => Promise.resolve({ content: "x".repeat(49_000), summary: "" });
    const { messages } = await along({ plays: [{ move: calls }, { move: done }], act });
    const results = blocksOf(messages).filter(({ type }) => type === "tool_result");
    expect(results).toHaveLength(6);
    expect(JSON.stringify(results).length).toBeLessThan(roundCharsMax);
  });

  it("a result without a word is sent as one that says so", async () => {
    const act = () => Promise.resolve({ content: "", summary: "" });
    const { messages } = await along({ plays: [{ move: { kind: "say", blocks: [looks(1)] } }, { move: done }], act });
    const result = blocksOf(messages).find(({ type }) => type === "tool_result");
    expect(result).toMatchObject({ content: "(look completed with no output)" });
  });
});

describe("a fork with limits of its own", () => {
  const overloaded: PlannedReply = { move: done, fault: { kind: "overloaded" } };

  it("tries as often as it is told, and never more often than its parent", async () => {
    let asked = 0;
    const counted: PlannedReply = { ...overloaded, faulted: () => void (asked += 1) };
    const { agent, forks } = await staged({ plays: [{ move: done }, counted] });
    await agent.turn("Begin.");
    expect(await forks.run(task("Go.", { triesMax: 2 }), signal)).toMatchObject({ kind: "failed" });
    expect(asked).toBe(2);
    await forks.run(task("Go.", { triesMax: 50 }), signal);
    expect(asked).toBe(2 + agent.deps.retries.triesMax);
  });

  it("fails when its time is over, and the model hears of it", async () => {
    const clock = handClock();
    const hangs: PlannedReply = { move: done, fault: { kind: "hang" } };
    const plays = [{ move: done }, hangs];
    const { agent, forks } = await staged({ plays, over: { now: clock.now, wait: clock.wait } });
    await agent.turn("Begin.");
    const outcome = forks.run(task("Go.", { timeMillisMax: millis(60_000) }), signal);
    await new Promise((resolve) => setTimeout(resolve, 20));
    await clock.advance(60_000);
    expect(await outcome).toEqual({
      kind: "failed",
      message: "The fork was stopped. It took longer than 60 seconds.",
      usage: [],
    });
  });

  it("waits for nothing any more once it has answered, and tells its words as they come", async () => {
    const clock = handClock();
    const { agent, forks } = await staged({ plays: [{ move: done }], over: { now: clock.now, wait: clock.wait } });
    await agent.turn("Begin.");
    const heard: string[] = [];
    const limited = task("Go.", { timeMillisMax: millis(60_000), onText: (words) => heard.push(words) });
    expect(await forks.run(limited, signal)).toMatchObject({ kind: "answered", text: "Done." });
    expect(heard.join("")).toBe("Done.");
    expect(clock.waiting()).toBe(0);
  });

  it("tells what a reply cost that broke off", async () => {
    const broken: PlannedReply = { move: done, fault: { kind: "break", afterEvents: 3 } };
    const { agent, forks } = await staged({ plays: [{ move: done }, broken, { move: done }] });
    await agent.turn("Begin.");
    const outcome = await forks.run(task("Go."), signal);
    expect(outcome.kind).toBe("answered");
    expect(outcome.usage).toHaveLength(2);
    expect(agent.conversation.costs.toJSON().bySource.notes?.requests).toBe(2);
  });
});
