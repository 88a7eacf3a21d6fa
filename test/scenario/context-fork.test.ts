import { mkdtemp, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { mapStore } from "../../examples/map-store.ts";
import { leaderWaitMs } from "../../packages/palimpsest/src/loop/limits.ts";
import type { Context } from "../../packages/palimpsest/src/context/context.ts";
import type { Provider } from "../../packages/palimpsest/src/context/provider-formats.ts";
import { forkPlaceholder } from "../../packages/palimpsest/src/layers/7-agents/agent-texts.ts";
import { openContext } from "../../packages/palimpsest/src/open/open-context.ts";
import type { ContextOptions } from "../../packages/palimpsest/src/open/options.ts";
import { sessionId } from "../../packages/palimpsest/src/schema/brand.ts";
import { fileStore } from "../../packages/palimpsest/src/store/files/store.ts";
import { memoryStore } from "../../packages/palimpsest/src/store/memory/store.ts";
import { simulatorFetch } from "../../packages/simulator/src/http/simulator-fetch.ts";
import { Simulator } from "../../packages/simulator/src/simulator.ts";
import { answering, call, say, when } from "./support/agents-world.ts";

/** Less than a fork waits for the one that it follows. */
const limit = leaderWaitMs - 1_000;

const model = "claude-sonnet-5-5";
const tools = [
  { name: "read", description: "Reads a file.", input_schema: { type: "object" as const } },
  { name: "agent", description: "Starts an agent.", input_schema: { type: "object" as const } },
];
const facts = `What we know: ${"the project has many parts. ".repeat(400)}`;
const responder = () =>
  answering(
    when("fork_task", say("My part is done.")),
    when("Split", call("agent", { part: 1 }), call("agent", { part: 2 })),
    when("Read it", call("read", { path: "a.ts" })),
  );

const simulated = () => {
  const simulator = new Simulator({ responder: responder() });
  const sent: string[] = [];
  const answer = simulatorFetch(simulator);
  const fetch: typeof answer = (input, init) => {
    if (typeof init?.body === "string") sent.push(init.body);
    return answer(input, init);
  };
  const options = { apiKey: "k", maxRetries: 0, baseURL: "http://s", fetch };
  return { simulator, sent, options, client: new Anthropic(options) };
};

/** One turn with the official client; the results of calls are short texts. */
async function turn(context: Context<"anthropic">, client: Anthropic, said?: string): Promise<void> {
  if (said !== undefined) await context.user(said);
  for (;;) {
    const calls = await context.assistant(await client.messages.create((await context.next()).params));
    if (calls.length === 0) return;
    for (const { id } of calls) await context.toolResult(id, `It says 42. ${"More lines of code. ".repeat(900)}`);
  }
}

const opened = (options: Partial<ContextOptions> = {}) =>
  openContext({ model, system: "You fix tests.", tools, ...options });

/** Without breakpoints: they move, and are no part of what is cached. */
const plain = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (key, inner: unknown) => (key === "cache_control" ? undefined : inner)));

describe("a fork of a context", () => {
  it("gets back the original of a result that its parent offloaded", async () => {
    const { client } = simulated();
    const context = await opened();
    await context.user("Read it");
    const [read] = await context.assistant(await client.messages.create((await context.next()).params));
    if (read === undefined) throw new Error("nothing was called");
    const original = "A long line of the file. ".repeat(20_000);
    await context.toolResult(read.id, original);
    expect(JSON.stringify((await context.next()).params)).not.toContain(original);
    const fork = await context.fork({ task: "Look again." });
    expect(JSON.stringify((await fork.next()).params)).not.toContain(original);
    const found = await fork.expand(read.id);
    expect(found.kind === "result" ? new TextDecoder().decode(found.bytes) : found.kind).toBe(original);
    await context.close();
  });

  it.each(["anthropic", "openai-chat", "openai-responses"] satisfies Provider[])(
    "begins with the bytes that its parent would send: %s",
    async (provider) => {
      const { options, client } = simulated();
      const openai = new OpenAI({ ...options, baseURL: "http://s/v1" });
      const isOpenai = provider !== "anthropic";
      const context = await openContext<Provider>({
        provider,
        model: isOpenai ? "gpt-5" : model,
        system: "You fix tests.",
        tools,
      });
      const ask = (params: never) =>
        provider === "anthropic"
          ? client.messages.create(params)
          : provider === "openai-chat"
            ? openai.chat.completions.create(params)
            : openai.responses.create(params);
      const round = async (one: Context<Provider>) =>
        await one.assistant(await ask((await one.next()).params as never));
      await context.user(`${facts} Read it`);
      const [read] = await round(context);
      await context.toolResult(read?.id ?? "", "It says 42.");
      await round(context);
      const forks = [await context.fork({ task: "ONE" }), await context.fork({ task: "TWO" })];
      await context.user("And now?");
      const parent = (await context.next()).params as unknown as Record<string, unknown>;
      const [first, second] = await Promise.all(
        forks.map(async (fork) => {
          const { params } = await fork.next();
          await fork.assistant(await ask(params as never));
          return params as unknown as Record<string, unknown>;
        }),
      );
      const { messages, input, ...head } = parent;
      const list = (messages ?? input) as unknown[];
      for (const [params, task] of [
        [first, "ONE"],
        [second, "TWO"],
      ] as const) {
        const { messages: own, input: ownInput, ...ownHead } = params ?? {};
        const ownList = (own ?? ownInput) as unknown[];
        expect(plain(ownHead)).toEqual(plain(head));
        expect(ownList).toHaveLength(list.length);
        expect(plain(ownList.slice(0, -1))).toEqual(plain(list.slice(0, -1)));
        expect(JSON.stringify(ownList.at(-1))).toContain(task);
        expect(JSON.stringify(ownList.at(-1))).toContain("fork_task");
      }
      await context.close();
    },
  );

  it("reads what its parent wrote to the cache, and has a breakpoint there", async () => {
    const { client } = simulated();
    const context = await opened();
    await turn(context, client, facts);
    const fork = await context.fork({ task: "ONE" });
    expect(JSON.stringify((await fork.next()).params.messages[0])).toContain("cache_control");
    await turn(fork, client);
    const { tokensByKind } = fork.costs().session;
    expect(tokensByKind.cacheRead).toBeGreaterThan(2_000);
    expect(tokensByKind.cacheWrite5m).toBeLessThan(500);
    await context.close();
  });

  it("writes to the cache for five minutes, however much there is to keep: nobody pauses between its requests", async () => {
    const { client } = simulated();
    const context = await opened();
    await turn(context, client, facts.repeat(10));
    const fork = await context.fork({ task: "ONE" });
    await turn(fork, client);
    expect(fork.costs().session.tokensByKind.cacheWrite5m).toBeGreaterThan(0);
    expect(fork.costs().session.tokensByKind.cacheWrite1h).toBe(0);
    await context.close();
  });

  it("has the same placeholder for each call of the newest reply, whatever has come in", async () => {
    const { client } = simulated();
    const context = await opened();
    await turn(context, client, facts);
    await context.user("Split the work");
    const calls = await context.assistant(await client.messages.create((await context.next()).params));
    expect(calls).toHaveLength(2);
    const first = await context.fork({ task: "ONE" });
    await context.toolResult(calls[0]?.id ?? "", "came in");
    const second = await context.fork({ task: "TWO" });
    const params = (await first.next()).params;
    await first.assistant(await client.messages.create(params));
    const others = (await second.next()).params;
    const [last, ...before] = params.messages.toReversed();
    const [otherLast, ...otherBefore] = others.messages.toReversed();
    expect(plain(otherBefore)).toEqual(plain(before));
    const blocks = plain(last?.content) as readonly { type: string; content?: string }[];
    expect((plain(otherLast?.content) as readonly unknown[]).slice(0, -1)).toEqual(blocks.slice(0, -1));
    expect(blocks.map(({ type }) => type)).toEqual(["tool_result", "tool_result", "text"]);
    expect(JSON.stringify(blocks).split(forkPlaceholder)).toHaveLength(3);
    expect(JSON.stringify(others)).not.toContain("came in");
    // The parent's calls still wait.
    await context.toolResult(calls[1]?.id ?? "", "came in later");
    expect(JSON.stringify((await context.next()).params)).toContain("came in later");
    await context.close();
  });

  it("is compacted on its own: the parent's next request stays the same, byte for byte", async () => {
    const { client } = simulated();
    const context = await opened();
    for (let time = 0; time < 3; time += 1) await turn(context, client, "Read it");
    await context.user("Go on");
    const before = JSON.stringify((await context.next()).params);
    const fork = await context.fork({ task: "ONE" });
    await turn(fork, client);
    expect(await fork.compact()).toMatchObject({ kind: "compacted" });
    await turn(fork, client, "Once more");
    await fork.user("?");
    expect(JSON.stringify((await fork.next()).params)).not.toContain("More lines of code.");
    expect(fork.receipts().map(({ kind }) => kind)).toContain("boundary");
    expect(context.receipts()).toEqual([]);
    expect(JSON.stringify((await context.next()).params)).toBe(before);
    await context.close();
  });

  it("counts its costs for its parent too, by its name, also when the session is opened again", async () => {
    const { client } = simulated();
    const store = fileStore({ folder: await mkdtemp(join(tmpdir(), "fork-")) });
    const context = await opened({ store, session: "s1" });
    await turn(context, client, facts);
    const own = context.costs().session;
    const [one, two] = [await context.fork({ task: "ONE" }), await context.fork({ name: "reader", task: "Read it" })];
    await turn(one, client);
    await turn(two, client);
    const costs = context.costs();
    expect(Object.keys(costs.byAgent)).toEqual(["fork", "reader"]);
    expect(costs.byAgent["fork"]).toEqual({ ...one.costs().session, headerTokens: 0, headerNanos: 0 });
    expect(costs.bySource.agents?.totalNanos).toBe(one.costs().session.totalNanos + two.costs().session.totalNanos);
    expect(costs.session.totalNanos).toBe(own.totalNanos + (costs.bySource.agents?.totalNanos ?? 0));
    expect(one.costs().session.requests).toBe(1);
    await context.close();
    const again = await opened({ store, session: "s1" });
    expect(again.costs().byAgent).toEqual(costs.byAgent);
    expect(again.costs().session.totalNanos).toBe(costs.session.totalNanos);
    const third = await again.fork({ task: "THREE" });
    await turn(third, client);
    expect(Object.keys(again.costs().byAgent)).toEqual(["fork", "reader", "fork-2"]);
    await again.close();
  });

  it("has a transcript of its own, next to its parent's, and can be searched; ids of the parent still lead to originals", async () => {
    const { client } = simulated();
    const folder = await mkdtemp(join(tmpdir(), "fork-"));
    const context = await opened({ store: fileStore({ folder }), session: "s1" });
    await turn(context, client, "Read it");
    expect(await context.compact()).toMatchObject({ kind: "compacted" });
    const [hit] = await context.recall("42");
    const fork = await context.fork({ task: "ONE heliotrope" });
    await turn(fork, client);
    expect(fork.session).toMatch(/^agent-[0-9a-f]{8}$/);
    expect((await fork.recall("heliotrope")).length).toBeGreaterThan(0);
    expect(await context.recall("heliotrope")).toEqual([]);
    expect((await fork.expand(hit?.id ?? "")).kind).not.toBe("not-found");
    expect((await fork.expand("no-such-id")).kind).toBe("not-found");
    await context.close();
    const logs = (await readdir(folder, { recursive: true })).filter(
      (name) => name.startsWith("s1") && name.endsWith(".jsonl"),
    );
    expect(logs.toSorted()).toEqual(["s1.jsonl", `s1/subagents/${fork.session}.jsonl`]);
  });

  it("can't fork, and says so", async () => {
    const context = await opened();
    await context.user("Begin.");
    const fork = await context.fork();
    await expect(fork.fork()).rejects.toMatchObject({ name: "ContextError", code: "no-agents" });
    await expect(fork.openAgent()).rejects.toMatchObject({ code: "no-agents" });
    await context.close();
  });

  it("needs a store that keeps transcripts of agents, a free name and an open parent", async () => {
    const stored = await opened({ store: mapStore() });
    await expect(stored.fork()).rejects.toMatchObject({ code: "no-agents", message: /agentsOf/ });
    await stored.close();
    const context = await opened();
    await context.fork({ name: "reader" });
    await expect(context.fork({ name: "reader" })).rejects.toMatchObject({ code: "bad-option" });
    await expect(context.fork({ name: "main" })).rejects.toMatchObject({ code: "bad-option" });
    await expect(context.fork({ name: "../x" })).rejects.toMatchObject({ code: "bad-option" });
    await context.close();
    await expect(context.fork()).rejects.toMatchObject({ code: "closed" });
  });

  it("ends with its parent, also while it waits for a sibling", async () => {
    const context = await opened();
    const [first, second] = [await context.fork({ task: "ONE" }), await context.fork({ task: "TWO" })];
    await first.next();
    const waiting = second.next().catch((error: unknown) => error);
    const started = performance.now();
    await context.close();
    expect(await waiting).toMatchObject({ code: "aborted" });
    expect(performance.now() - started).toBeLessThan(limit);
    await expect(first.next()).rejects.toMatchObject({ code: "closed" });
  });

  it("frees its transcript when it is closed", async () => {
    const store = memoryStore();
    const context = await opened({ store, session: "s1" });
    const fork = await context.fork({ task: "ONE" });
    const ports = await store.open();
    const agents = ports.kind === "open" ? ports.agentsOf?.(sessionId("s1")) : undefined;
    expect(await agents?.transcripts.openForWriting(sessionId(fork.session))).toMatchObject({ kind: "busy" });
    await fork.close();
    expect(await agents?.transcripts.openForWriting(sessionId(fork.session))).toMatchObject({ kind: "open" });
    expect(await agents?.list()).toEqual([fork.session]);
    await context.close();
  });
});

describe("forks of one point", () => {
  const within = <Value>(promise: Promise<Value>): Promise<Value | "waits"> =>
    Promise.race([promise, new Promise<"waits">((resolve) => setTimeout(() => resolve("waits"), 50))]);

  it("that run together wait until the reply of the first one begins, so that one writes and the others read", async () => {
    const { client } = simulated();
    const context = await opened();
    await context.user(facts);
    const forks = await Promise.all(["ONE", "TWO", "THREE"].map((task) => context.fork({ task })));
    const started = performance.now();
    await Promise.all(forks.map((fork) => turn(fork, client)));
    expect(performance.now() - started).toBeLessThan(limit);
    const kinds = forks.map((fork) => fork.costs().session.tokensByKind);
    expect(kinds.map(({ cacheWrite5m }) => cacheWrite5m > 2_000)).toEqual([true, false, false]);
    expect(kinds.map(({ cacheRead }) => cacheRead > 2_000)).toEqual([false, true, true]);
    await context.close();
  });

  it("that run one after the other do not wait", async () => {
    const { client } = simulated();
    const context = await opened();
    await context.user(facts);
    const forks = await Promise.all(["ONE", "TWO", "THREE"].map((task) => context.fork({ task })));
    const started = performance.now();
    for (const fork of forks) {
      await turn(fork, client);
      await turn(fork, client, "Once more");
    }
    expect(performance.now() - started).toBeLessThan(limit);
    await context.close();
  });

  it("follow the next one if the first is refused or closed, and never wait for themselves", async () => {
    const { client } = simulated();
    const context = await opened();
    await context.user(facts);
    const [first, second, third] = await Promise.all(["ONE", "TWO", "THREE"].map((task) => context.fork({ task })));
    if (first === undefined || second === undefined || third === undefined) throw new Error("no fork");
    await first.next();
    await first.next();
    const waiting = second.next();
    expect(await within(waiting)).toBe("waits");
    await first.refused({
      status: 529,
      body: { type: "error", error: { type: "overloaded_error", message: "later" } },
    });
    expect(await within(waiting)).not.toBe("waits");
    const others = [first.next(), third.next()];
    expect(await Promise.all(others.map((other) => within(other)))).toEqual(["waits", "waits"]);
    await second.close();
    // One of them leads now.
    expect(await within(Promise.any(others))).not.toBe("waits");
    await context.close();
    await Promise.allSettled(others);
    await expect(turn(await opened().then((fresh) => fresh.fork({ task: "FOUR" })), client)).resolves.toBeUndefined();
  });

  it("stop waiting when they are aborted", async () => {
    const context = await opened();
    await context.user(facts);
    const [first, second] = [await context.fork({ task: "ONE" }), await context.fork({ task: "TWO" })];
    await first.next();
    await expect(second.next({ signal: AbortSignal.timeout(20) })).rejects.toMatchObject({ code: "aborted" });
    await context.close();
  });
});

describe("an agent of a context", () => {
  it("knows nothing of its parent; what it pays counts there by its name", async () => {
    const { client, sent } = simulated();
    const context = await opened();
    await turn(context, client, facts);
    const agent = await context.openAgent({ name: "reader", system: "You read files.", tools, task: "Read it" });
    await turn(agent, client);
    expect(sent.at(-1)).toContain("You read files.");
    expect(sent.at(-1)).not.toContain("What we know");
    expect(context.costs().byAgent["reader"]?.requests).toBe(2);
    expect(agent.costs().bySource.main?.requests).toBe(2);
    await context.close();
  });

  it("may start agents, and these may not; all of them count", async () => {
    const { client } = simulated();
    const context = await opened();
    const agent = await context.openAgent({ task: "Go." });
    const inner = await agent.fork({ name: "inner", task: "ONE" });
    await turn(inner, client);
    expect(agent.costs().byAgent["inner"]?.requests).toBe(1);
    expect(context.costs().byAgent["agent"]?.requests).toBe(1);
    const deep = await agent.openAgent();
    await expect(deep.openAgent()).rejects.toMatchObject({ code: "no-agents" });
    await expect(context.openAgent({ model: "" })).rejects.toMatchObject({ code: "bad-option" });
    await context.close();
  });
});
