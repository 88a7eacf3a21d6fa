import { describe, expect, it } from "vitest";
import { loggingTool, testAgent, type ToolLog } from "../../../../test/fixture/agent.ts";
import { done, looks, signal, staged, task } from "../../../../test/fixture/forked.ts";
import { openedForTest, testDeps } from "../../../../test/fixture/session.ts";
import { says } from "../../../../test/scenario/support/simulated.ts";
import { retryLimitsDefault } from "../model/limits.ts";
import type { ModelRequest } from "../ports/model-port.ts";
import { noUser } from "../ports/user-port.ts";
import type { Message } from "../schema/block.ts";
import { tokens } from "../schema/brand.ts";
import type { Responder, Move } from "@palimpsest/simulator/internal/responder/responder";
import { lastUserText } from "@palimpsest/simulator/internal/responder/request-text";
import { Simulator } from "@palimpsest/simulator/internal/simulator";
import type { AgentDeps } from "../context/deps.ts";
import { ConversationForks } from "./conversation-forks.ts";

/** Works through its task; a fork is told by its directive. */
const actor = (): Responder => {
  let rounds = 0;
  return {
    name: "worker",
    respond: ({ request }) => {
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
  readonly actor?: Responder;
  readonly over?: Partial<AgentDeps>;
}

async function working({ log = { runs: [], most: 0 }, over = {}, ...played }: Work = {}) {
  const deps = testDeps();
  const session = await openedForTest(deps);
  const long = () => Promise.resolve({ content: "line of output\n".repeat(300), summary: "" });
  const look = loggingTool("look", { effect: "read", log, act: long });
  const simulator = new Simulator({ responder: played.actor ?? actor() });
  const agent = testAgent({ deps, session, simulator, tools: [look], over });
  await agent.turn("Go.");
  return { agent, session, simulator, forks: new ConversationForks(agent) };
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
    const overloadedOnce: Responder = {
      name: "overloaded once",
      respond: async (scene) => {
        const take = await worker.respond(scene);
        if (failures > 0 || !lastUserText(scene.request).startsWith("Fork")) return take;
        failures += 1;
        return { ...take, fault: { kind: "overloaded" } };
      },
    };
    const retries = { ...retryLimitsDefault, triesMax: 1 };
    const wait = () => new Promise<void>(() => undefined);
    const { forks } = await working({ actor: overloadedOnce, over: { retries, wait } });
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

  it("is not the user: what they would be asked about is denied", async () => {
    let asked = 0;
    const permission = () => {
      asked += 1;
      return Promise.resolve({ kind: "once" } as const);
    };
    const over: Partial<AgentDeps> = {
      permit: () => Promise.resolve({ kind: "ask", reason: "a person decides" }),
      asking: { user: { ...noUser, permission }, allowAlways: () => Promise.resolve({ kind: "kept" }) },
    };
    const looking: Move = { kind: "say", blocks: [looks(1)] };
    const plays = [looking, done, looking, done].map((move) => ({ move }));
    const scene = await staged({ plays, over });
    await scene.agent.turn("Begin.");
    expect([asked, scene.log.runs.length]).toEqual([1, 1]);
    await scene.forks.run(task("Go."), signal);
    expect([asked, scene.log.runs.length]).toEqual([1, 1]);
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
    const early = new ConversationForks({ ...agent, deps: { ...agent.deps, model } });
    const all = await early.run(task("Note it.", { cacheWrite: "skip" }), signal);
    const some = await early.run(task("Note it.", { cacheWrite: "skip", messagesMax: 9 }), signal);
    const [whole = [], part = []] = sent.map((request) => messagesOf(request.pieces.bytes(request)));
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
    const settings = agent.deps.settings();
    const thresholds = { ...settings.thresholds, blocking: tokens(blocking) };
    const tight = new ConversationForks({
      ...agent,
      deps: { ...agent.deps, settings: () => ({ ...settings, thresholds }) },
    });
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
