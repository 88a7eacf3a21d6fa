import { describe, expect, it } from "vitest";
import { handClock } from "../../test/fixture/hand-clock.ts";
import { loggingTool, testAgent, type ToolLog } from "../../test/fixture/agent.ts";
import { openedForTest, testDeps } from "../../test/fixture/session.ts";
import { says } from "../../test/scenario/support/simulated.ts";
import { roundCharsMax } from "../layers/1-offload/limits.ts";
import { retryLimitsDefault } from "../model/limits.ts";
import type { ForkTask } from "../ports/fork.ts";
import type { ModelRequest } from "../ports/model.ts";
import type { ToolOutcome } from "../ports/tools.ts";
import type { Block, Message } from "../schema/block.ts";
import { millis, tokens } from "../schema/brand.ts";
import type { Actor, Move, Take } from "../simulator/actor/actor.ts";
import { lastUserText } from "../simulator/actor/request-text.ts";
import { Simulator } from "../simulator/simulator.ts";
import type { AgentDeps } from "./agent/deps.ts";
import { ConversationForks } from "./fork.ts";

const signal = new AbortController().signal;
const task = (directive: string, more: Partial<ForkTask> = {}): ForkTask => ({
  directive,
  source: "notes",
  roundsMax: 3,
  cacheWrite: "write",
  permit: () => Promise.resolve({ kind: "allowed" }),
  ...more,
});

/** Works through its task; a fork is told by its directive. */
const actor = (): Actor => {
  let rounds = 0;
  return {
    name: "worker",
    play: ({ request }) => {
      const said = lastUserText(request);
      if (/^(?:note|fork)/i.test(said)) return { move: { kind: "say", blocks: says(`About ${said}`) } };
      rounds += 1;
      const call = { type: "tool_use", name: "look", input: { n: rounds } } as const;
      return { move: { kind: "say", blocks: rounds % 8 === 0 ? says("Done.") : [call] } };
    },
  };
};

interface Work {
  readonly log?: ToolLog;
  readonly actor?: Actor;
  readonly over?: Partial<AgentDeps>;
}

async function working({ log = { runs: [], most: 0 }, over = {}, ...played }: Work = {}) {
  const deps = testDeps();
  const session = await openedForTest(deps);
  const long = () => Promise.resolve({ content: "line of output\n".repeat(300), summary: "" });
  const look = loggingTool("look", { effect: "read", log, act: long });
  const simulator = new Simulator({ actor: played.actor ?? actor() });
  const agent = testAgent({ deps, session, simulator, tools: [look], over });
  await agent.turn("Go.");
  return { agent, session, simulator, forks: new ConversationForks(agent.deps, agent.conversation) };
}

const read = (usage: readonly Record<string, unknown>[]): number => Number(usage[0]?.["cache_read_input_tokens"] ?? 0);
const wrote = (usage: readonly Record<string, unknown>[]): number =>
  Number(usage[0]?.["cache_creation_input_tokens"] ?? 0);

describe("a fork", () => {
  it("answers from the parent's context, reads what the parent cached, and leaves the parent alone", async () => {
    const { agent, session, forks } = await working();
    const before = session.view();
    const outcome = await forks.run(task("Note what was done."), signal);
    if (outcome.kind !== "answered") expect.unreachable();
    expect(outcome.text).toBe("About Note what was done.");
    expect(session.view()).toEqual(before);
    const main = agent.conversation.costs.toJSON().bySource.main?.tokensByKind;
    const cached = (main?.cacheRead ?? 0) + (main?.cacheWrite5m ?? 0);
    expect(cached).toBeGreaterThan(0);
    const [last] = agent.conversation.costs
      .toJSON()
      .requests.filter(({ source }) => source === "main")
      .slice(-1);
    const parentCached = (last?.tokensByKind.cacheRead ?? 0) + (last?.tokensByKind.cacheWrite5m ?? 0);
    expect(read(outcome.usage)).toBeGreaterThanOrEqual(parentCached * 0.95);
  });

  it("is booked under its source", async () => {
    const { agent, forks } = await working();
    await forks.run(task("Note it."), signal);
    expect(agent.conversation.costs.toJSON().bySource.notes?.requests).toBe(1);
  });

  it("of five that start together, one writes what they share and four read it", async () => {
    const { forks } = await working();
    const outcomes = await Promise.all([1, 2, 3, 4, 5].map((n) => forks.run(task(`Fork ${n}, do your part.`), signal)));
    const usages = outcomes.map((outcome) => outcome.usage);
    const [first, ...others] = usages;
    for (const usage of others) expect(read(usage)).toBe(read(first ?? []) + wrote(first ?? []) - ownTokens(usage));
  });

  it("of five of which the first fails before its reply begins, one of the others writes what they share and three read it", async () => {
    const worker = actor();
    let failures = 0;
    const overloadedOnce: Actor = {
      name: "overloaded once",
      play: async (scene) => {
        const take = await worker.play(scene);
        if (failures > 0 || !lastUserText(scene.request).startsWith("Fork")) return take;
        failures += 1;
        return { ...take, fault: { kind: "overloaded" } };
      },
    };
    const retries = { ...retryLimitsDefault, triesMax: 1 };
    const { forks } = await working({ actor: overloadedOnce, over: { retries } });
    const outcomes = await Promise.all([1, 2, 3, 4, 5].map((n) => forks.run(task(`Fork ${n}, do your part.`), signal)));
    expect(outcomes.map(({ kind }) => kind)).toEqual(["failed", "answered", "answered", "answered", "answered"]);
    const [second, ...others] = outcomes.slice(1).map(({ usage }) => usage);
    for (const usage of others) {
      expect(wrote(usage)).toBeLessThan(wrote(second ?? []));
      expect(read(usage)).toBe(read(second ?? []) + wrote(second ?? []) - ownTokens(usage));
    }
  });

  it("that skips the cache write writes nothing", async () => {
    const { forks } = await working();
    const outcome = await forks.run(task("Note it.", { cacheWrite: "skip" }), signal);
    expect(read(outcome.usage)).toBeGreaterThan(0);
    expect(wrote(outcome.usage)).toBe(0);
  });

  it("may not do what its own permission or its parent's denies", async () => {
    const log: ToolLog = { runs: [], most: 0 };
    const { forks } = await working({ log });
    const ran = log.runs.length;
    const denied = task("Go on looking.", {
      permit: () => Promise.resolve({ kind: "denied", reason: "no tools here" }),
    });
    const outcome = await forks.run(denied, signal);
    expect(log.runs).toHaveLength(ran);
    expect(outcome.kind).toBe("over");
  });
});

/** What the fork's own end wrote: the same for all, since directives are of one length. */
const ownTokens = (usage: readonly Record<string, unknown>[]): number => wrote(usage);

interface Scene {
  /** What the actor does at its first, second, … request; the last one again and again. */
  readonly plays: readonly Take[];
  readonly act?: () => Promise<ToolOutcome>;
  readonly over?: Partial<AgentDeps>;
}

async function staged({ plays, act, over }: Scene) {
  const deps = testDeps();
  const session = await openedForTest(deps);
  let at = 0;
  const play = (): Take => plays[Math.min(at++, plays.length - 1)] ?? { move: { kind: "say", blocks: [] } };
  const log: ToolLog = { runs: [], most: 0 };
  const look = loggingTool("look", { effect: "read", log, ...(act === undefined ? {} : { act }) });
  const simulator = new Simulator({ actor: { name: "staged", play } });
  const agent = testAgent({ deps, session, simulator, tools: [look], ...(over === undefined ? {} : { over }) });
  return { agent, session, log, forks: new ConversationForks(agent.deps, agent.conversation) };
}

const looks = (n: number) => ({ type: "tool_use", name: "look", input: { n } }) as const;
const done: Move = { kind: "say", blocks: says("Done.") };
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
    const plays: readonly Take[] = [
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

describe("what a fork stands on", () => {
  it("is its parent's messages themselves, so that nothing of them is serialised again", async () => {
    const { agent, session, forks } = await working();
    const own = session.fold.messages;
    for (const [at, message] of agent.conversation.line.snapshot().entries()) expect(message).toBe(own[at]);
    const before = agent.conversation.pieces.serialised;
    await forks.run(task("Note it."), signal);
    // Of the reply that ended the turn, never sent before, and the directive.
    expect(agent.conversation.pieces.serialised).toBe(before + 2);
  });

  it("is tools of its own", async () => {
    const log: ToolLog = { runs: [], most: 0 };
    const own = loggingTool("look", { effect: "read", log });
    const over = { toolsForFork: () => ({ tools: [own], cwd: () => "/elsewhere" }) };
    const plays = [{ move: done }, { move: { kind: "say", blocks: [looks(1)] } }, { move: done }] as const;
    const scene = await staged({ plays, over });
    await scene.agent.turn("Begin.");
    expect(await scene.forks.run(task("Go."), signal)).toMatchObject({ kind: "answered" });
    expect(scene.log.runs).toEqual([]);
    expect(log.runs).toEqual(['look {"n":1}']);
  });
});

describe("a fork that waits or breaks", () => {
  it("is over at once when it is aborted while a sibling asks again and again", async () => {
    const retrying = Promise.withResolvers<void>();
    const over: Partial<AgentDeps> = {
      wait: (_, aborted) => {
        retrying.resolve();
        return new Promise((resolve) => aborted.addEventListener("abort", () => resolve()));
      },
    };
    const { agent, forks } = await staged({
      plays: [{ move: done }, { move: done, fault: { kind: "overloaded" } }],
      over,
    });
    await agent.turn("Begin.");
    const [first, second] = [new AbortController(), new AbortController()];
    const sibling = forks.run(task("Fork 1."), first.signal);
    await retrying.promise;
    const waiting = forks.run(task("Fork 2."), second.signal);
    second.abort();
    expect(await waiting).toEqual({ kind: "over", why: "aborted", usage: [] });
    first.abort();
    expect(await sibling).toMatchObject({ kind: "over", why: "aborted" });
  });

  it("fails with what it has paid for where something throws, and lets its siblings go on", async () => {
    const plays = [{ move: done }, { move: { kind: "say", blocks: [looks(1)] } }, { move: done }] as const;
    const { agent, forks } = await staged({ plays });
    await agent.turn("Begin.");
    const broken = forks.run(task("Fork 1.", { permit: () => Promise.reject(new Error("no rules")) }), signal);
    const sibling = forks.run(task("Fork 2."), signal);
    const outcome = await broken;
    if (outcome.kind !== "failed") expect.unreachable();
    expect(outcome.message).toContain("no rules");
    expect(outcome.usage).toHaveLength(1);
    expect(await sibling).toMatchObject({ kind: "answered" });
  });

  it("fails where it can't even begin", async () => {
    const toolsForFork = () => {
      throw new Error("no tools");
    };
    const { agent, forks } = await staged({ plays: [{ move: done }], over: { toolsForFork } });
    await agent.turn("Begin.");
    expect(await forks.run(task("Go."), signal)).toMatchObject({ kind: "failed", usage: [] });
  });
});

describe("a fork of an earlier point", () => {
  it("sends the beginning of what its parent sends, and reads what the parent cached of it", async () => {
    const { agent, forks } = await working();
    const sent: ModelRequest[] = [];
    const model: AgentDeps["model"] = {
      ...agent.deps.model,
      send: (request, given) => {
        sent.push(request);
        return agent.deps.model.send(request, given);
      },
    };
    const early = new ConversationForks({ ...agent.deps, model }, agent.conversation);
    const all = await early.run(task("Note it.", { cacheWrite: "skip" }), signal);
    const some = await early.run(task("Note it.", { cacheWrite: "skip", messagesMax: 9 }), signal);
    const [whole = [], part = []] = sent.map(({ body }) => messagesOf(body));
    expect(part).toHaveLength(9);
    expect(part.slice(0, 8)).toEqual(whole.slice(0, 8));
    expect(part.at(-1)?.content).toEqual([...(whole[8]?.content ?? []), { type: "text", text: "Note it." }]);
    expect(some.kind).toBe("answered");
    const uncached = Number(some.usage[0]?.["input_tokens"]);
    expect(read(some.usage) / (read(some.usage) + uncached)).toBeGreaterThan(0.95);
    expect(read(some.usage)).toBeLessThan(read(all.usage));
    expect(wrote(some.usage)).toBe(0);
    expect(forks.model).toBe(agent.conversation.baseline.model);
  });

  it("is counted by its own share of the context", async () => {
    const { agent } = await working();
    const { usedTokens, fixedTokens } = agent.conversation.line;
    const blocking = Math.floor(fixedTokens + 0.7 * (usedTokens - fixedTokens));
    const numbers = agent.deps.numbers();
    const thresholds = { ...numbers.thresholds, blocking: tokens(blocking) };
    const tight = new ConversationForks(
      { ...agent.deps, numbers: () => ({ ...numbers, thresholds }) },
      agent.conversation,
    );
    expect(await tight.run(task("Note it."), signal)).toMatchObject({ kind: "over", why: "over-limit" });
    expect(await tight.run(task("Note it.", { messagesMax: 9 }), signal)).toMatchObject({ kind: "answered" });
  });

  it("fails where that point lies between a call and its result", async () => {
    const { forks } = await working();
    expect(await forks.run(task("Note it.", { messagesMax: 8 }), signal)).toMatchObject({ kind: "failed", usage: [] });
  });
});

/** What was sent passed the simulator's own check of the form. */
const messagesOf = (bytes: Uint8Array): readonly Message[] =>
  (JSON.parse(new TextDecoder().decode(bytes).replaceAll(/,"cache_control":\{[^}]*\}/g, "")) as { messages: Message[] })
    .messages;

describe("a fork with limits of its own", () => {
  const overloaded: Take = { move: done, fault: { kind: "overloaded" } };

  it("tries as often as it is told, and never more often than its parent", async () => {
    let asked = 0;
    const counted: Take = { ...overloaded, faulted: () => void (asked += 1) };
    const { agent, forks } = await staged({ plays: [{ move: done }, counted] });
    await agent.turn("Begin.");
    expect(await forks.run(task("Go.", { triesMax: 2 }), signal)).toMatchObject({ kind: "failed" });
    expect(asked).toBe(2);
    await forks.run(task("Go.", { triesMax: 50 }), signal);
    expect(asked).toBe(2 + agent.deps.retries.triesMax);
  });

  it("fails when its time is over, and the model hears of it", async () => {
    const clock = handClock();
    const hangs: Take = { move: done, fault: { kind: "hang" } };
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
    const broken: Take = { move: done, fault: { kind: "break", afterEvents: 3 } };
    const { agent, forks } = await staged({ plays: [{ move: done }, broken, { move: done }] });
    await agent.turn("Begin.");
    const outcome = await forks.run(task("Go."), signal);
    expect(outcome.kind).toBe("answered");
    expect(outcome.usage).toHaveLength(2);
    expect(agent.conversation.costs.toJSON().bySource.notes?.requests).toBe(2);
  });
});
