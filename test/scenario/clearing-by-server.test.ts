import { describe, expect, it, vi } from "vitest";
import { ConversationForks } from "../../packages/palimpsest/src/loop/conversation-forks.ts";
import { pastReceipts } from "../../packages/palimpsest/src/session/past-receipts.ts";
import { offersRetryMillis } from "../../packages/palimpsest/src/layers/server/known-server.ts";
import type { ModelPort } from "../../packages/palimpsest/src/ports/model-port.ts";
import type { Tool } from "../../packages/palimpsest/src/ports/tool.ts";
import type { LoopEvent } from "../../packages/palimpsest/src/schema/loop-event.ts";
import type { Draft } from "../../packages/palimpsest/src/transcript/draft.ts";
import { clearedIn, clearingWorld, fileOf, readTool, sentText, usagesIn } from "./support/clearing-world.ts";
import { refused, type SeenRequest } from "./support/whole-agent.ts";

const sixMinutes = 6 * 60_000;
const flags = [["policy", "claude-code-2026-all"]] as const;

const deletionsOf = ({ body }: SeenRequest): number =>
  ((body["cache_edits"] as { deletions?: unknown[] } | undefined)?.deletions ?? []).length;

const whatOf = (events: readonly LoopEvent[]): readonly string[] => clearedIn(events).map(({ what }) => what);

describe("results that are deleted in the provider's cache", () => {
  it("go while it is warm, by the request alone: the messages stay, and nothing is written again", async () => {
    const world = clearingWorld({ cacheEdits: "offered" });
    const agent = await world.agent("create", { clearsBy: "patient" });
    const events = await agent.turn("read 16 × 60");
    expect(new Set(whatOf(events))).toEqual(new Set(["delete-in-cache"]));
    expect(deletionsOf(world.seen.at(-1) ?? none)).toBeGreaterThanOrEqual(7);
    expect(sentText(world.seen.at(-1))).not.toContain("cleared");
    const usages = usagesIn(events);
    const last = Math.max(...usages.slice(3).map(({ cacheWrite }) => cacheWrite));
    const first = usages[2]?.cacheWrite ?? 0;
    expect(last).toBeLessThan(1.5 * first);
    expect(events.filter(({ kind }) => kind === "cache-break")).toEqual([]);
    expect(refused(world.seen)).toEqual([]);
  });

  it("are cleared by their markers once the cache has expired, and no request deletes them any more", async () => {
    const world = clearingWorld({ cacheEdits: "offered" });
    const agent = await world.agent("create", { clearsBy: "patient" });
    await agent.turn("read 16 × 60");
    const deleted = deletionsOf(world.seen.at(-1) ?? none);
    world.simulator.clock.advance(sixMinutes);
    const events = await agent.turn("And now?");
    expect(clearedIn(events)[0]).toMatchObject({ what: "clear", count: deleted });
    expect(deletionsOf(world.seen.at(-1) ?? none)).toBe(0);
    expect(sentText(world.seen.at(-1)).split("Old tool result cleared").length).toBeGreaterThan(deleted);
    expect(refused(world.seen)).toEqual([]);
  });

  it("are shown again where the cache was lost, and then deleted anew", async () => {
    const world = clearingWorld({ cacheEdits: "offered" });
    const agent = await world.agent("create", { clearsBy: "patient" });
    await agent.turn(`read 16 × 200 ${"and so on ".repeat(4_000)}`);
    world.simulator.cache.lose();
    const lost = await agent.turn("And now?");
    expect(lost.filter(({ kind }) => kind === "cache-break")).toHaveLength(1);
    const after = await agent.turn("And then?");
    expect(after).toContainEqual(expect.objectContaining({ kind: "edit", what: "server-edits" }));
    expect(whatOf(after)).toEqual(["delete-in-cache"]);
    expect(after.filter(({ kind }) => kind === "cache-break")).toEqual([]);
    expect(refused(world.seen)).toEqual([]);
  });

  it("are not asked for where nobody offers that, and never by a fork", async () => {
    const plain = clearingWorld();
    const without = await plain.agent("create");
    expect(whatOf(await without.turn("read 16 × 60"))).not.toContain("delete-in-cache");
    expect(Math.max(...plain.seen.map(deletionsOf))).toBe(0);
    const world = clearingWorld({ cacheEdits: "offered" });
    const agent = await world.agent("create", { clearsBy: "patient" });
    await agent.turn("read 16 × 60");
    const before = agent.session.fold.projection.withheld.size;
    const task = {
      source: "notes",
      directive: "Sum up.",
      roundsMax: 1,
      cacheWrite: "skip",
      permit: () => Promise.resolve({ kind: "allowed" as const }),
    } as const;
    await new ConversationForks(agent).run(task, new AbortController().signal);
    expect(deletionsOf(world.seen.at(-1) ?? none)).toBe(0);
    expect(agent.session.fold.projection.withheld.size).toBe(before);
  });
});

describe("results of a copied log, whose ids no request may hold", () => {
  it("are deleted in the cache by the ids under which they are sent", async () => {
    const world = clearingWorld({ cacheEdits: "offered" });
    const agent = await world.agent("create", { clearsBy: "patient" });
    await agent.session.append({ type: "user", message: { role: "user", content: "Read it all." } });
    for (let nth = 0; nth < 12; nth += 1) await agent.session.append(...copiedRound(nth));
    const first = await agent.turn("And now?");
    expect(first.at(-1)).toMatchObject({ reason: "answered" });
    const events = await agent.turn("read 8 × 60");
    const deleted = agent.session.fold.projection.withheld;
    expect(whatOf([...first, ...events])).toContain("delete-in-cache");
    expect([...deleted].some((toolUse) => toolUse.startsWith("x|"))).toBe(true);
    expect(deletionsOf(world.seen.at(-1) ?? none)).toBe(deleted.size);
    expect(refused(world.seen)).toEqual([]);
  });
});

const copiedRound = (nth: number): readonly Draft[] => [
  {
    type: "assistant",
    message: {
      id: `m${nth}`,
      role: "assistant",
      content: [{ type: "tool_use", id: `x|${nth}`, name: "read", input: { path: `/copied-${nth}`, lines: 60 } }],
    },
  },
  {
    type: "user",
    message: {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: `x|${nth}`, content: fileOf(`/copied-${nth}`, 60) }],
    },
  },
];

describe("a models endpoint that does not answer", () => {
  /** A session with deletions, opened again at once: the cache is warm. */
  async function reopened(describe: (real: ModelPort) => ModelPort["describe"]) {
    const world = clearingWorld({ cacheEdits: "offered" });
    const before = await world.agent("create", { flags });
    await before.turn("read 16 × 60");
    const deleted = before.session.fold.projection.withheld.size;
    expect(deleted).toBeGreaterThan(0);
    await before.session.close();
    const { model: real } = before.deps;
    const model: ModelPort = { provider: real.provider, send: real.send.bind(real), describe: describe(real) };
    const agent = await world.agent("resume", { flags, over: { model } });
    return { world, agent, deleted };
  }

  it("clears nothing: what was deleted is shown and counted until it answers, and then deleted anew", async () => {
    let asked = 0;
    const { world, agent, deleted } = await reopened((real) => async (model) => {
      asked += 1;
      return asked === 1 ? undefined : real.describe(model);
    });
    const events = await agent.turn("read 3 × 5");
    expect(asked).toBe(1);
    expect(whatOf(events)).toEqual([]);
    expect(events.filter(({ kind }) => kind === "edit")).toMatchObject([{ what: "server-edits" }]);
    expect(deletionsOf(world.seen.at(-1) ?? none)).toBe(0);
    const [size] = events.flatMap((event) => (event.kind === "request-start" ? [Number(event.tokens)] : []));
    const [usage] = usagesIn(events);
    const counted = (usage?.input ?? 0) + (usage?.cacheRead ?? 0) + (usage?.cacheWrite ?? 0);
    expect((size ?? 0) / counted).toBeGreaterThan(0.9);
    expect((size ?? 0) / counted).toBeLessThan(1.1);
    world.simulator.clock.advance(offersRetryMillis);
    expect(whatOf(await agent.turn("And now?"))).toEqual(["delete-in-cache"]);
    expect(deletionsOf(world.seen.at(-1) ?? none)).toBeGreaterThanOrEqual(deleted);
    expect(refused(world.seen)).toEqual([]);
  });

  it("and a turn that is aborted meanwhile change nothing", async () => {
    const asked = Promise.withResolvers<undefined>();
    const { agent, deleted } = await reopened(() => () => {
      asked.resolve(undefined);
      return new Promise(() => undefined);
    });
    const aborting = new AbortController();
    const turn = agent.turn("And now?", aborting.signal);
    await asked.promise;
    aborting.abort();
    const events = await turn;
    expect(events.at(-1)).toMatchObject({ kind: "turn-end", reason: "aborted" });
    expect(whatOf(events)).toEqual([]);
    expect(agent.session.fold.projection.withheld.size).toBe(deleted);
  });
});

describe("a server that deletes in its cache, and a policy with every flag on", () => {
  it("is asked for one of the two ways to leave results out, alike in every request, and refuses none", async () => {
    const world = clearingWorld({ cacheEdits: "offered" });
    const agent = await world.agent("create", { flags });
    const events = await agent.turn("read 40 × 60");
    expect(refused(world.seen)).toEqual([]);
    expect(events.at(-1)).toMatchObject({ kind: "turn-end", reason: "answered" });
    expect(world.seen).toHaveLength(41);
    expect(deletionsOf(world.seen.at(-1) ?? none)).toBeGreaterThan(25);
    const asked = world.seen.map(({ body }) => JSON.stringify(body["context_management"]));
    expect(new Set(asked).size).toBe(1);
    expect(asked[0]).toContain("clear_thinking_20251015");
    expect(asked[0]).not.toContain("clear_tool_uses_20250919");
  });

  it("breaks no cache, and what a deletion says that it saves is what the server leaves out by it", async () => {
    const world = clearingWorld({ cacheEdits: "offered" });
    const agent = await world.agent("create", { flags });
    const events = await agent.turn("read 40 × 60");
    expect(events.filter(({ kind }) => kind === "cache-break")).toEqual([]);
    const deletions = clearedIn(events);
    expect(deletions.length).toBeGreaterThan(3);
    // The same file each time: no result is cheaper for being deleted later.
    const savedEach = deletions.map(({ tokensSaved, count }) => tokensSaved / count);
    expect(Math.max(...savedEach) / Math.min(...savedEach)).toBeLessThan(1.1);
    const sizes = events.flatMap((event) => (event.kind === "request-start" ? [Number(event.tokens)] : []));
    const counted = usagesIn(events).map(({ input, cacheRead, cacheWrite }) => input + cacheRead + cacheWrite);
    // Before the first reply nobody knows what tools and system prompt weigh.
    const errors = sizes.slice(1).map((size, at) => size / (counted[at + 1] ?? 0));
    expect(Math.min(...errors)).toBeGreaterThan(0.85);
    expect(Math.max(...errors)).toBeLessThan(1.3);
  });

  it("is not asked to delete what was snipped since", async () => {
    const world = clearingWorld({ cacheEdits: "offered" });
    const agent = await world.agent("create", { flags });
    await agent.turn("read 14 × 60");
    const { items, withheld } = agent.session.fold.projection;
    const deleted = withheld.size;
    const entries = items.slice(1, 5).map(({ entry }) => entry);
    await agent.session.edit({ drafts: [{ type: "snip", entries }], cause: "asked", nature: "reduced" });
    const events = await agent.turn("And now?");
    expect(refused(world.seen)).toEqual([]);
    expect(events.at(-1)).toMatchObject({ reason: "answered" });
    expect(deletionsOf(world.seen.at(-1) ?? none)).toBe(deleted - 2);
  });

  it("is followed by one that can't: that one is sent no deletion, and the results go by their markers", async () => {
    const world = clearingWorld({ cacheEdits: "offered" });
    const agent = await world.agent("create", { flags });
    await agent.turn("read 14 × 60");
    const deleted = agent.session.fold.projection.withheld.size;
    await agent.session.close();
    const other = clearingWorld({ deps: world.deps });
    const resumed = await other.agent("resume", { flags });
    const events = await resumed.turn("And now?");
    expect(refused(other.seen)).toEqual([]);
    expect(clearedIn(events)[0]).toMatchObject({ what: "clear", count: deleted });
    expect(deletionsOf(other.seen.at(-1) ?? none)).toBe(0);
  });
});

const none: SeenRequest = { body: {}, answer: "accepted", costUsd: 0 };

describe("results that the server clears by its own rule", () => {
  it("are asked for in every request alike, and what it left out is told and written down", async () => {
    const world = clearingWorld();
    const agent = await world.agent("create", { flags: [["policy", "api"]] });
    const events = await agent.turn("read 12 × 900");
    const asked = world.seen.map(({ body }) => JSON.stringify(body["context_management"]));
    expect(new Set(asked).size).toBe(1);
    expect(asked[0]).toContain("clear_tool_uses_20250919");
    const told = events.filter((event) => event.kind === "server-cleared");
    expect(told.length).toBeGreaterThan(0);
    expect(told[0]?.tokens).toBeGreaterThan(10_000);
    const edits = agent.session.fold.path.entries.filter(
      (entry) => entry.kind === "edit" && entry.edit.type === "server-edits",
    );
    expect(edits).toHaveLength(told.length);
    expect(refused(world.seen)).toEqual([]);
    const breaks = events.flatMap((event) => (event.kind === "cache-break" ? [event.cause] : []));
    expect(breaks.length).toBeGreaterThan(0);
    for (const cause of breaks) expect(cause).toMatch(/^the server left out [\d,]+ tokens by its own rule/);
  });

  it.each(["is aborted", "can't be written"] as const)(
    "a cache that was lost is told also if the reply that shows it %s",
    async (end) => {
      const world = clearingWorld();
      const aborting = new AbortController();
      const { session, deps: before } = await world.agent("create", { flags: [["policy", "api"]] });
      await session.close();
      let breaksOff = (): void => undefined;
      const model: ModelPort = {
        provider: before.model.provider,
        describe: before.model.describe.bind(before.model),
        send: async function* (request, signal) {
          for await (const event of before.model.send(request, signal)) {
            if (event.kind === "block-end") breaksOff();
            yield event;
          }
        },
      };
      const agent = await world.agent("resume", { flags: [["policy", "api"]], over: { model } });
      await agent.turn(`Hello. ${"And so on. ".repeat(4_000)}`);
      world.simulator.cache.lose();
      breaksOff = () => {
        if (end === "is aborted") aborting.abort();
        else
          vi.spyOn(agent.session, "append").mockResolvedValue({ kind: "failed", why: "disk-full", message: "Full." });
      };
      const events = await agent.turn("And now?", aborting.signal);
      expect(events.at(-1)).toMatchObject({ reason: end === "is aborted" ? "aborted" : "failed" });
      expect(events.filter(({ kind }) => kind === "cache-break")).toHaveLength(1);
    },
  );

  it("have a receipt that says how many they were, and of how many tokens", async () => {
    const world = clearingWorld();
    const agent = await world.agent("create", { flags: [["policy", "api"]] });
    await agent.turn("read 12 × 900");
    const source = await world.deps.transcripts.openForReading(agent.session.id);
    if (source === undefined) throw new Error("the log is gone");
    const receipts = await pastReceipts(agent.session.fold, source);
    const first = receipts.find(({ kind }) => kind === "server-edits");
    expect(first?.count).toBeGreaterThan(0);
    expect(first).toMatchObject({ cause: "clear.api" });
    expect(first?.because).toMatch(/^the server left out [\d,]+ tokens: \d+ results?, by its own rule$/);
  });

  it("thinking is kept while somebody works, and only that of the last turn after an hour", async () => {
    const world = clearingWorld();
    const agent = await world.agent("create", { flags });
    await agent.turn("Hello.");
    world.simulator.clock.advance(61 * 60_000);
    await agent.turn("Hello again.");
    await agent.turn("And again.");
    const kept = world.seen.map(({ body }) => {
      const { edits = [] } = (body["context_management"] ?? {}) as { edits?: { type: string; keep?: unknown }[] };
      return edits[0]?.type === "clear_thinking_20251015" ? edits[0].keep : undefined;
    });
    expect(kept).toEqual(["all", { type: "thinking_turns", value: 1 }, { type: "thinking_turns", value: 1 }]);
    expect(refused(world.seen)).toEqual([]);
  });

  it("the tools that write give up their inputs, and those that may not be cleared are left out", async () => {
    const world = clearingWorld();
    const tool = (name: string): Tool => ({ ...readTool, name });
    const agent = await world.agent("create", { flags, tools: [tool("read"), tool("write"), tool("todo")] });
    await agent.turn("Hello.");
    expect(world.seen[0]?.body["context_management"]).toMatchObject({
      edits: [
        { type: "clear_thinking_20251015" },
        {
          trigger: { type: "input_tokens", value: 180_000 },
          clear_at_least: { type: "input_tokens", value: 140_000 },
          exclude_tools: ["todo"],
          clear_tool_inputs: ["write"],
        },
      ],
    });
  });
});
