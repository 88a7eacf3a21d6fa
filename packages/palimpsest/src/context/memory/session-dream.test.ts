import { checkBudget, noSpend } from "../../cache/background-budget.ts";
import { millis, nanoUsd } from "../../schema/brand.ts";
import { describe, expect, it } from "vitest";
import { scriptedFork, scriptedUsage } from "../../../../../test/fixture/scripted-fork.ts";
import { createDreamWorld, otherSessions } from "../../../../../test/scenario/support/dream-world.ts";
import { resolveSettings } from "../../settings/resolve-settings.ts";
import { resolveForModel } from "../../settings/resolved-settings.ts";
import { flagValues } from "@palimpsest/cli/internal/settings/flag-values";
import type { DreamTask } from "../../layers/6-dream/dream-task.ts";

const hour = 60 * 60_000;
const idle = () => scriptedFork(() => '{"removed": []}');
const merging = () =>
  scriptedFork(async ({ call }) => {
    await call("memory", { command: "view", path: "/memories" });
    await call("memory", { command: "delete", path: "/memories/b.md" });
    return '{"removed": []}';
  });
const seeds = { "a.md": "Deploys run on Friday.", "b.md": "Deploys run on Friday." };

const overBudget = checkBudget({ spent: noSpend, estimateNanos: nanoUsd(1e9), now: millis(0) });

describe("a dream by itself", () => {
  it("runs after a day and five other sessions, once, and not again for a day", async () => {
    const world = await createDreamWorld();
    await world.seed(seeds);
    const fork = merging();
    const dream = world.open(fork);
    expect(await dream.run({ mode: "commit" })).toMatchObject({ kind: "dreamt", revision: { author: "dream" } });
    expect(await world.texts()).toEqual({ "a.md": "Deploys run on Friday." });
    expect(await dream.run({ mode: "commit" })).toEqual({ kind: "closed", gate: "too-soon" });
    world.pass(23 * hour);
    expect(await dream.run({ mode: "commit" })).toEqual({ kind: "closed", gate: "too-soon" });
    world.pass(2 * hour);
    expect(await dream.run({ mode: "commit" })).toMatchObject({ kind: "dreamt", revision: undefined });
    expect(fork.tasks).toHaveLength(2);
  });

  it("is stopped by each gate, and asks no model then", async () => {
    const world = await createDreamWorld();
    await world.seed(seeds);
    const fork = idle();
    let listed = 0;
    const few = { list: () => (listed++, otherSessions(4, world.now).list()) };
    const off = resolveForModel(resolveSettings([flagValues([{ flag: "off", text: "dream" }])]), {
      model: "claude-sonnet-5-5",
    });
    const dream = world.open(fork, { sessions: few });
    expect(await world.open(fork, { settings: () => off }).run({ mode: "commit" })).toEqual({
      kind: "closed",
      gate: "off",
    });
    expect(await world.open(fork, { spend: { mayStart: async () => overBudget } }).run({ mode: "commit" })).toEqual({
      kind: "closed",
      gate: "money",
    });
    expect(await dream.run({ mode: "commit" })).toEqual({ kind: "closed", gate: "few-sessions" });
    expect(await dream.run({ mode: "commit" })).toEqual({ kind: "closed", gate: "scanned" });
    expect([listed, fork.tasks.length]).toEqual([1, 0]);
  });

  it("counts only sessions that were written to since the last one, and not its own", async () => {
    const world = await createDreamWorld();
    await world.seed(seeds);
    await world.open(idle()).run({ mode: "commit" });
    const then = world.now() - 1_000;
    world.pass(25 * hour);
    const old = world.open(idle(), { sessions: otherSessions(9, () => then) });
    expect(await old.run({ mode: "commit" })).toEqual({ kind: "closed", gate: "few-sessions" });
    const own = {
      list: async () =>
        (await otherSessions(5, world.now).list()).map((one) => ({ ...one, sessionId: world.session.id })),
    };
    expect(await world.open(idle(), { sessions: own }).run({ mode: "commit" })).toEqual({
      kind: "closed",
      gate: "few-sessions",
    });
  });

  it("runs in the background after a turn, and says what it saved", async () => {
    const world = await createDreamWorld();
    await world.seed(seeds);
    const dream = world.open(merging());
    dream.turnEnded();
    await expect.poll(() => dream.task?.status).toBe("completed");
    expect(world.events).toEqual([
      {
        kind: "memories-saved",
        by: "dream",
        revision: "r3",
        memories: [{ path: "b.md", name: "B", description: expect.any(String) as string, change: "deleted" }],
      },
    ]);
  });

  it("that failed is not tried again in this session, and the time of the last one stays", async () => {
    const world = await createDreamWorld();
    await world.seed(seeds);
    const fork = scriptedFork(async ({ call }) => {
      for (;;) await call("memory", { command: "view", path: "/memories" });
    });
    const dream = world.open(fork);
    expect(await dream.run({ mode: "commit" })).toMatchObject({ kind: "failed" });
    expect(await dream.run({ mode: "commit" })).toEqual({ kind: "closed", gate: "failed-before" });
    expect(await world.open(idle()).run({ mode: "commit" })).toMatchObject({ kind: "dreamt" });
  });
});

describe("a dream that the user wants", () => {
  it("runs whatever the gates say, but never beside another one", async () => {
    const world = await createDreamWorld();
    await world.seed(seeds);
    const go = Promise.withResolvers<string>();
    const first = world.open(
      scriptedFork(() => go.promise),
      { sessions: otherSessions(0) },
    );
    const running = first.run({ mode: "commit", force: true });
    await expect.poll(() => first.task?.status).toBe("running");
    expect(await first.run({ mode: "commit", force: true })).toEqual({ kind: "closed", gate: "running" });
    const second = world.open(idle());
    expect(await second.run({ mode: "commit", force: true })).toMatchObject({ kind: "busy", state: "running" });
    go.resolve("{}");
    expect(await running).toMatchObject({ kind: "dreamt" });
    expect(await second.run({ mode: "commit", force: true })).toMatchObject({ kind: "dreamt" });
  });

  it("shows in a dry run what it would do, and changes nothing", async () => {
    const world = await createDreamWorld();
    await world.seed(seeds);
    const dream = world.open(merging());
    expect(await dream.run({ mode: "dry-run", force: true })).toMatchObject({
      kind: "dreamt",
      revision: undefined,
      receipt: { made: [{ path: "b.md", before: "Deploys run on Friday.\n", after: undefined }] },
    });
    expect(await world.texts()).toEqual(seeds);
    expect(world.events).toEqual([]);
    expect(await dream.run({ mode: "commit" })).toMatchObject({ kind: "dreamt", revision: { author: "dream" } });
  });

  it("costs nothing where there is no memory", async () => {
    const world = await createDreamWorld();
    const fork = idle();
    expect(await world.open(fork).run({ mode: "commit", force: true })).toMatchObject({ kind: "dreamt", usage: [] });
    expect(fork.tasks).toEqual([]);
  });
});

describe("a dream that runs", () => {
  it("is a task with phase, replies, calls and files", async () => {
    const world = await createDreamWorld();
    await world.seed(seeds);
    const tasks: DreamTask[] = [];
    await world.open(merging(), { onTask: (task) => tasks.push(task) }).run({ mode: "commit" });
    expect(tasks[0]).toMatchObject({ status: "running", phase: "starting", turnsTotal: 0, files: [] });
    expect(tasks.find(({ phase }) => phase === "updating")).toMatchObject({ files: ["b.md"], calls: 2 });
    expect(tasks.at(-1)).toMatchObject({
      status: "completed",
      turnsTotal: 3,
      calls: 2,
      files: ["b.md"],
      message: "1 memory changed.",
    });
  });

  it("can be killed: nothing is changed, the time of the last one stays, and what it cost is booked", async () => {
    const world = await createDreamWorld();
    await world.seed(seeds);
    const hang = Promise.withResolvers<void>();
    const dream = world.open(
      scriptedFork(async ({ call, signal }) => {
        await call("memory", { command: "delete", path: "/memories/b.md" });
        signal.addEventListener("abort", () => hang.resolve());
        await hang.promise;
        return "{}";
      }),
    );
    dream.turnEnded();
    await expect.poll(() => dream.task?.phase).toBe("updating");
    await dream.kill();
    expect(dream.task).toMatchObject({ status: "killed", files: [] });
    expect(await world.texts()).toEqual(seeds);
    expect(world.session.fold.projection.settings.get("memory.spent")).toMatchObject({
      source: "dream",
      calls: [{ usage: scriptedUsage }],
      failed: { why: "killed" },
    });
    expect(await world.open(idle()).run({ mode: "commit" })).toMatchObject({ kind: "dreamt" });
  });

  it("ends with its session", async () => {
    const world = await createDreamWorld();
    await world.seed(seeds);
    const dream = world.open(
      scriptedFork(({ signal }) => new Promise((resolve) => signal.addEventListener("abort", () => resolve("{}")))),
    );
    dream.turnEnded();
    await expect.poll(() => dream.task?.status).toBe("running");
    await world.session.close();
    expect(dream.task?.status).toBe("killed");
    expect(await dream.run({ mode: "commit", force: true })).toEqual({ kind: "closed", gate: "closing" });
  });

  it("that hangs in another process is left alone and reported once", async () => {
    const world = await createDreamWorld();
    await world.seed(seeds);
    const hanging = world.open(
      scriptedFork(({ signal }) => new Promise((resolve) => signal.addEventListener("abort", () => resolve("{}")))),
    );
    hanging.turnEnded();
    await expect.poll(() => hanging.task?.status).toBe("running");
    world.pass(2 * hour);
    const other = world.open(idle());
    for (const _ of [1, 2])
      expect(await other.run({ mode: "commit", force: true })).toMatchObject({ kind: "busy", state: "overdue" });
    expect(world.events).toMatchObject([{ kind: "warning", code: "dream-overdue" }]);
    await hanging.kill();
  });
});

it("a dream is booked under its source", async () => {
  const world = await createDreamWorld();
  await world.seed(seeds);
  await world.open(merging()).run({ mode: "commit" });
  const spent = world.session.fold.projection.settings.get("memory.spent");
  expect(spent).toEqual({
    source: "dream",
    calls: Array.from({ length: 3 }, () => ({ path: "fork", model: "claude-sonnet-5-5", usage: scriptedUsage })),
  });
});
