import { existsSync, readFileSync } from "node:fs";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { openWorkspace } from "../../packages/cli/src/host/workspace.ts";
import { millis, sessionId, toolUseId } from "../../packages/palimpsest/src/schema/brand.ts";
import { append, call, offloaded, reply, user } from "../fixture/session.ts";
import { expectRefusal, json, newWorld, type World } from "./support/cli-world.ts";
import { fileDeps, openedSession, pathOf, sessionWith } from "./support/project.ts";

const isLong = process.env["PALIMPSEST_LONG"] === "1";
const gone = "aaaaaaaa-0000-4000-8000-000000000001";
const kept = "bbbbbbbb-0000-4000-8000-000000000002";
const secret = "the words of the deleted session";

/** The project that the command line finds from its working folder. */
async function worldWithProject(): Promise<World> {
  const world = await newWorld();
  const located = await openWorkspace({ env: { PALIMPSEST_HOME: world.home }, cwd: world.work }).project();
  if (located.kind !== "located") throw new Error(located.message);
  return { ...world, folder: located.folder, deps: fileDeps(located.folder) };
}

/** Two sessions: one result is offloaded by both, one by each alone. The first has notes, a plan and a sub-agent's log. */
async function filledWorld(): Promise<World> {
  const world = await worldWithProject();
  const { deps, folder } = world;
  for (const id of [gone, kept])
    await sessionWith(deps, id, async (session) => {
      await append(session, user(id === gone ? secret : "stays"), reply("m1", call("t1"), call("t2")));
      for (const [toolUse, content] of [["t1", "of both"] as const, ["t2", `of ${id} alone`] as const]) {
        for (const draft of await offloaded(deps, toolUse, content)) await append(session, draft);
        const stored = await deps.blobs.put(Buffer.from(content));
        if (stored.kind === "failed") throw new Error(stored.message);
        await deps.blobs.link({
          blob: stored.id,
          session: sessionId(id),
          toolUse: toolUseId(toolUse),
          media: "text",
        });
      }
    });
  await deps.notesFileFor(sessionId(gone)).write(`notes: ${secret}`);
  await deps.planFileFor(sessionId(gone)).write(`plan: ${secret}`);
  await mkdir(join(folder, gone, "subagents"));
  await writeFile(join(folder, gone, "subagents", "agent-1.jsonl"), `{"text":"${secret}"}\n`);
  await deps.sessions.list();
  return world;
}

/** Every file below, with its bytes; `not`: names that are left out. */
async function filesBelow(folder: string, not: readonly string[] = []): Promise<ReadonlyMap<string, string>> {
  const names = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const wanted = paths.filter((path) => !not.some((name) => path.includes(name))).toSorted();
  return new Map(wanted.map((path) => [path.slice(folder.length + 1), readFileSync(path, "latin1")]));
}

/** What another session is made of, and what it can show. */
async function keptState({ folder, deps, call: run }: World): Promise<object> {
  const expanded = await Promise.all(["t1", "t2"].map(async (id) => (await run("expand", kept, id)).out));
  return {
    log: readFileSync(pathOf({ folder }, kept), "utf8"),
    results: await filesBelow(join(folder, kept)),
    expanded,
    blobs: (await deps.blobs.list()).length,
  };
}

describe("a session is deleted with all that belongs to it alone", () => {
  it("nothing of it is left on disk, and the session that shares a result with it stays byte for byte", async () => {
    const world = await filledWorld();
    const before = await keptState(world);
    const said = json<{ deleted: object[]; bytesFreed: number }>(
      await world.call("sessions", "delete", gone, "--yes", "--json"),
    );
    expect(said).toMatchObject({
      deleted: [{ session: gone, title: secret, messages: 3, derived: [] }],
      unfinished: [],
      blobsLeft: null,
    });
    expect(said.bytesFreed).toBeGreaterThan(`of ${gone} alone`.length);
    expect(await keptState(world)).toEqual({ ...before, blobs: 2 });
    const left = await filesBelow(world.folder);
    expect([...left.keys()].filter((path) => path.includes(gone))).toEqual([]);
    expect([...left.values()].filter((content) => content.includes(secret) || content.includes(gone))).toEqual([]);
    expectRefusal(await world.call("sessions", "show", gone), 3);
    expect((await world.call("sessions", "fsck", kept)).code).toBe(0);
  });

  it("its memories go with it, but none that others wrote in, and none if it is refused or deleted otherwise", async () => {
    const world = await filledWorld();
    const { memories } = world.deps;
    const save = (path: string, text: string, session?: string) =>
      memories.commit({
        author: session === undefined ? "user" : "agent",
        provenance: {
          at: millis(1),
          trust: "trusted",
          session: session === undefined ? undefined : sessionId(session),
        },
        message: "m",
        changes: [{ path, expected: "any", text }],
      });
    await save("mine.md", "What the user wrote, with a tpyo.");
    await save("mine.md", "What the user wrote, with a typo.", gone);
    await save("own.md", "Of this session alone.", gone);
    await save("other.md", "Of another one.", kept);
    const paths = async () => (await memories.list()).map(({ path }) => path);
    const all = ["MEMORY.md", "mine.md", "other.md", "own.md"];
    const session = await openedSession(world.deps, gone, "resume");
    expectRefusal(await world.call("sessions", "delete", gone, "--yes"), 4);
    await session.close();
    expect(await paths()).toEqual(all);
    await world.deps.deletion.detach(sessionId(kept));
    expect((await world.call("sessions", "gc")).code).toBe(0);
    expect(await paths()).toEqual(all);
    const said = json<{ deleted: { derived: string[] }[] }>(
      await world.call("sessions", "delete", gone, "--yes", "--json"),
    );
    expect(said.deleted[0]?.derived).toEqual(["1 memory (own.md); mine.md stays: others wrote in it too"]);
    expect(await paths()).toEqual(["MEMORY.md", "mine.md", "other.md"]);
  });

  it("several at once, one of them named twice, and by the beginning of an id", async () => {
    const world = await filledWorld();
    const said = await world.call("sessions", "delete", "aaaaaaaa", kept, gone, "--yes");
    expect(said).toMatchObject({ code: 0, err: "" });
    expect(said.out).toMatch(/^deleted 2 sessions, \d/);
    expect(json(await world.call("sessions", "list", "--all", "--json"))).toEqual([]);
    expect(await world.deps.blobs.list()).toEqual([]);
  });

  it("without a terminal and without --yes nothing is deleted", async () => {
    const world = await filledWorld();
    for (const more of [[], ["--json"]])
      expectRefusal(await world.call("sessions", "delete", gone, ...more), 5, "nothing was deleted", "--yes");
    expect(existsSync(pathOf(world, gone))).toBe(true);
  });

  it("one that is open is refused, and then none is deleted", async () => {
    const world = await filledWorld();
    const session = await openedSession(world.deps, kept, "resume");
    expectRefusal(await world.call("sessions", "delete", gone, kept, "--yes"), 4, "in use by process");
    expect(existsSync(pathOf(world, gone))).toBe(true);
    const said = await world.call("sessions", "delete", gone, "--yes");
    expect(said.out).toContain("sessions gc");
    expect(await world.deps.blobs.list()).toHaveLength(3);
    await session.close();
  });

  it("another tool's file is never deleted, nor what there is not", async () => {
    const world = await filledWorld();
    const path = world.file("other.jsonl", [{ type: "user", uuid: "u1", message: { role: "user", content: "hi" } }]);
    expectRefusal(await world.call("sessions", "delete", path, "--yes"), 5, "another tool");
    expectRefusal(await world.call("sessions", "delete", "nobody", "--yes"), 3);
    expect(existsSync(path)).toBe(true);
  });
});

describe("a deletion that is killed leaves a session that opens, or one that is gone and that the next run finishes", () => {
  const preload = `--import=${pathToFileURL(resolve(import.meta.dirname, "child/kill-at.ts")).href}`;
  const killed = (world: World, env: Readonly<Record<string, string>>) =>
    world.start({ env: { ...env, NODE_OPTIONS: preload } }, "sessions", "delete", gone, "--yes");

  /** The changes to the disk that a deletion makes, by their names. */
  const changesOfDeletion = async (): Promise<readonly string[]> => {
    const world = await filledWorld();
    const report = join(world.work, "changes.json");
    expect((await killed(world, { KILL_REPORT: report })).code).toBe(0);
    return JSON.parse(readFileSync(report, "utf8")) as string[];
  };

  /** Each takes a process: the short version takes the changes that move something, and the last one. */
  const chosenPoints = (changes: readonly string[]): readonly number[] =>
    [...changes.keys()].filter((at) => isLong || ["rename", "rmdir"].includes(changes[at] ?? ""));

  it("by kill -9, before each step that changes the disk", async () => {
    const changes = await changesOfDeletion();
    expect(changes.filter((name) => name === "rename").length).toBeGreaterThanOrEqual(4);
    const states = new Set<string>();
    for (const at of chosenPoints(changes)) {
      const world = await filledWorld();
      const whole = await filesBelow(world.folder, [".lock", "sessions-index.json", ".tmp"]);
      const before = await keptState(world);
      expect((await killed(world, { KILL_AT: `${at} before` })).signal).toBe("SIGKILL");
      const listed = json<{ sessionId: string }[]>(await world.call("sessions", "list", "--all", "--json"));
      const isListed = listed.some((row) => row.sessionId === gone);
      states.add(isListed ? "opens" : "gone");
      if (isListed) {
        expect(await filesBelow(world.folder, [".lock", "sessions-index.json", ".tmp"])).toEqual(whole);
        expect((await world.call("sessions", "fsck", gone)).code).toBe(0);
      } else expectRefusal(await world.call("sessions", "show", gone), 3);
      const again = await world.call("sessions", "delete", gone, "--yes");
      // Killed with its last changes, nothing is left to be finished.
      expect([0, 3], again.err).toContain(again.code);
      expect(await keptState(world)).toEqual({ ...before, blobs: 2 });
      const left = await filesBelow(world.folder, [".tmp"]);
      expect([...left].filter(([path, content]) => path.includes(gone) || content.includes(secret))).toEqual([]);
    }
    expect([...states].toSorted()).toEqual(["gone", "opens"]);
  });

  it("`sessions gc` finishes it too, and a session that takes its name meanwhile starts empty and stays", async () => {
    const changes = await changesOfDeletion();
    const detached = changes.indexOf("rename", changes.indexOf("rename") + 1);
    const world = await filledWorld();
    // After the transcript is detached, before the folder of its files is.
    expect((await killed(world, { KILL_AT: `${detached} before` })).signal).toBe("SIGKILL");
    expect(existsSync(join(world.folder, gone, "notes.md"))).toBe(true);
    await sessionWith(world.deps, gone, (session) => append(session, user("new")).then(() => undefined));
    expect(existsSync(join(world.folder, gone, "notes.md"))).toBe(false);
    await world.deps.notesFileFor(sessionId(gone)).write("new notes");
    expect(json(await world.call("sessions", "gc", "--dry-run", "--json"))).toMatchObject({ deletions: [gone] });
    expect((await world.call("sessions", "gc")).out).toContain(`finished the deletion of session ${gone}`);
    expect(json(await world.call("sessions", "gc", "--dry-run", "--json"))).toMatchObject({ deletions: [], blobs: 2 });
    expect(readFileSync(join(world.folder, gone, "notes.md"), "utf8")).toBe("new notes");
    expect((await world.call("sessions", "fsck", gone)).code).toBe(0);
    expect([...(await filesBelow(world.folder)).values()].filter((content) => content.includes(secret))).toEqual([]);
  });
});
