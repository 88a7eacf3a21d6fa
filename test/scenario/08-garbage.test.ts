import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openWorkspace } from "../../packages/cli/src/host/workspace.ts";
import { appendBoundary } from "../../packages/palimpsest/src/session/append-boundary.ts";
import { collectGarbage } from "../../packages/palimpsest/src/session/collect-garbage.ts";
import { garbageAgeMin } from "../../packages/palimpsest/src/session/limits.ts";
import { type BlobId, millis, sessionId, toolUseId } from "../../packages/palimpsest/src/schema/brand.ts";
import { fileGarbage } from "../../packages/palimpsest/src/store/files/file-garbage.ts";
import { append, call, offloaded, reply, user } from "../fixture/session.ts";
import { runAppend } from "./child/run-append.ts";
import { expectRefusal, json, newWorld, type World } from "./support/cli-world.ts";
import { fileDeps, newProject, openedSession, type Project, sessionWith } from "./support/project.ts";

const deps = { now: () => millis(Date.now()) };
const gc = (folder: string, mode: "list" | "delete") =>
  collectGarbage({ ...deps, garbage: fileGarbage({ deps, folder }) }, { mode });

const blobPath = ({ folder }: Pick<Project, "folder">, id: string): string => join(folder, "blobs", id);

async function put(project: Project, content: string): Promise<BlobId> {
  const stored = await project.deps.blobs.put(Buffer.from(content));
  if (stored.kind !== "stored") throw new Error(stored.message);
  return stored.id;
}

/** Two hours ago. */
async function makeOld(project: Pick<Project, "folder">, ...ids: readonly string[]): Promise<void> {
  const then = (Date.now() - 2 * garbageAgeMin) / 1000;
  for (const id of ids) await utimes(blobPath(project, id), then, then);
}

async function unreferenced(project: Project): Promise<string[]> {
  const outcome = await gc(project.folder, "list");
  if (outcome.kind !== "collected") throw new Error("busy");
  return outcome.unreferenced.map(({ id }) => id).toSorted();
}

/** A project of its own that the command line finds from its working folder. */
async function worldWithProject(): Promise<World> {
  const world = await newWorld();
  const located = await openWorkspace({ env: { PALIMPSEST_HOME: world.home }, cwd: world.work }).project();
  if (located.kind !== "located") throw new Error(located.message);
  const slug = (await readdir(join(world.home, "projects"))).find((name) => name !== "p");
  const folder = join(world.home, "projects", slug ?? "");
  return { ...world, folder, deps: fileDeps(folder) };
}

describe("garbage collection has a dry run and never deletes what is referenced", () => {
  it("offloads, checkpoints and the checkpoints before them are references; a dry run lists exactly the rest", async () => {
    const project = await newProject();
    await sessionWith(project.deps, "s", async (session) => {
      await append(session, user("Go."), reply("m1", call("t1")));
      for (const draft of await offloaded(project.deps, "t1", "the long output")) await append(session, draft);
      for (const summary of ["one", "two", "three"]) {
        await appendBoundary(project.deps, session, { summary, trigger: "auto" });
        await append(session, user(`after ${summary}`));
      }
    });
    const named = await project.deps.blobs.list();
    expect(named).toHaveLength(4);
    const lone = [await put(project, "nobody"), await put(project, "names me")].toSorted();
    await makeOld(project, ...named, ...lone);
    expect(await unreferenced(project)).toEqual(lone);
    expect((await project.deps.blobs.list()).length).toBe(6);
    expect(await gc(project.folder, "delete")).toMatchObject({
      kind: "collected",
      unreferenced: [{ state: "deleted" }, { state: "deleted" }],
    });
    expect(await project.deps.blobs.list()).toEqual(named);
    expect(await unreferenced(project)).toEqual([]);
  });

  it("a chain of blobs is followed from whatever names its head; a chain that nothing names is garbage", async () => {
    const project = await newProject();
    const chain = async (name: string): Promise<BlobId[]> => {
      const ids: BlobId[] = [];
      for (let link = 0; link < 4; link += 1)
        ids.push(await put(project, JSON.stringify({ name, previous: ids.at(-1) })));
      return ids;
    };
    const kept = await chain("kept");
    const lost = await chain("lost");
    await writeFile(join(project.folder, "s.jsonl"), `{"checkpoint":"${kept.at(-1)}"}\n`);
    expect(await unreferenced(project)).toEqual(lost.toSorted());
  });

  it("damaged lines, sub-agents' logs, bytes set aside and notes refer too", async () => {
    const project = await newProject();
    const ids = await Promise.all(["torn", "agent", "aside", "notes", "nul"].map((content) => put(project, content)));
    const [torn = "", agent = "", aside = "", notes = "", nul = ""] = ids;
    for (const folder of ["s/subagents", "s/set-aside", "s/session-memory"])
      await mkdir(join(project.folder, folder), { recursive: true });
    await writeFile(join(project.folder, "s.jsonl"), `\0\0"${nul}"\0\n{"type":"offload","blob":"${torn.slice(0, 40)}`);
    await writeFile(join(project.folder, "s/subagents/agent-1.jsonl"), `{"x":"${agent}"}\n`);
    await writeFile(join(project.folder, "s/set-aside/0-9.bin"), aside);
    await writeFile(join(project.folder, "s/session-memory/summary.md"), `see ${notes}`);
    expect(await unreferenced(project)).toEqual([]);
  });

  it("a tool-results link of a session that exists is a reference; links of a deleted session go with their blob", async () => {
    const project = await newProject();
    const [kept, lost] = [await put(project, "kept"), await put(project, "lost")];
    await writeFile(join(project.folder, "living.jsonl"), "");
    const link = (blob: BlobId, session: string) =>
      project.deps.blobs.link({ blob, session: sessionId(session), toolUse: toolUseId("t1"), media: "text" });
    const paths = [await link(kept, "living"), await link(lost, "dead")].map((path) => path ?? "");
    await makeOld(project, kept, lost);
    await gc(project.folder, "delete");
    expect(await project.deps.blobs.list()).toEqual([kept]);
    expect(paths.map((path) => existsSync(path))).toEqual([true, false]);
  });

  it("whatever is named in whatever way stays, for any set of references", async () => {
    const ways = [
      (id: string) => `{"type":"offload","results":[{"blob":"${id}"}]}\n`,
      (id: string) => `{"half a line ${id}`,
      (id: string) => `${"x".repeat(90)}${id.slice(0, 33)}\n`,
      (id: string) => `\0${id.slice(20)}\0`,
    ];
    const contents = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 20 }), { minLength: 1, maxLength: 8 });
    const way = fc.nat({ max: ways.length });
    await fc.assert(
      fc.asyncProperty(contents, fc.array(way, { minLength: 8, maxLength: 8 }), async (all, chosen) => {
        const project = await newProject();
        const ids: BlobId[] = [];
        let log = "";
        for (const [at, content] of all.entries()) {
          const id = await put(project, content);
          const names = ways[chosen[at] ?? ways.length];
          if (names !== undefined) log += `${names(id)}\n`;
          else ids.push(id);
        }
        await writeFile(join(project.folder, "s.jsonl"), log);
        await makeOld(project, ...(await project.deps.blobs.list()));
        expect(await unreferenced(project)).toEqual(ids.toSorted());
        await gc(project.folder, "delete");
        expect((await project.deps.blobs.list()).length).toBe(all.length - ids.length);
      }),
      { numRuns: 40 },
    );
  });
});

describe("what may be about to be named stays", () => {
  it("a young blob, also one that was there for long and is put again", async () => {
    const project = await newProject();
    const [young, again] = [await put(project, "young"), await put(project, "again")];
    await makeOld(project, again);
    expect(await put(project, "again")).toBe(again);
    const outcome = await gc(project.folder, "delete");
    expect(outcome).toMatchObject({ unreferenced: [{ state: "young" }, { state: "young" }] });
    expect((await project.deps.blobs.list()).toSorted()).toEqual([young, again].toSorted());
  });

  it("a blob that is put while the collection runs", async () => {
    const project = await newProject();
    const id = await put(project, "raced");
    await makeOld(project, id);
    const garbage = fileGarbage({ deps, folder: project.folder });
    const racing = {
      ...garbage,
      remove: async (...args: Parameters<typeof garbage.remove>) => {
        await put(project, "raced");
        return garbage.remove(...args);
      },
    };
    expect(await collectGarbage({ ...deps, garbage: racing }, { mode: "delete" })).toMatchObject({
      unreferenced: [{ state: "young" }],
    });
    expect(Buffer.from((await project.deps.blobs.get(id)) ?? []).toString()).toBe("raced");
    expect(await readdir(join(project.folder, "blobs"))).toEqual([id]);
  });

  it("a blob that a collection had taken away when it was killed comes back", async () => {
    const project = await newProject();
    const hash = createHash("sha256").update("away").digest("hex");
    await mkdir(join(project.folder, "blobs"));
    await writeFile(blobPath(project, `${hash}.123e4567-e89b-42d3-a456-426614174000.leaving`), "away");
    expect(await unreferenced(project)).toEqual([hash]);
    expect(await project.deps.blobs.list()).toEqual([hash]);
  });

  it("everything, while a living process has a session of the project open", async () => {
    const world = await worldWithProject();
    const id = await put(world, "lone");
    await makeOld(world, id);
    await sessionWith(world.deps, "held", async (session) => void (await append(session, user("Hi."))));
    const child = runAppend({
      folder: world.folder,
      session: "held",
      name: "a",
      count: 0,
      afterwards: "hold",
      meanwhile: "be quiet",
    });
    expect(await child.next()).toMatchObject({ kind: "open" });
    const [deleting, listing] = await Promise.all([
      world.call("sessions", "gc"),
      world.call("sessions", "gc", "--dry-run", "--json"),
    ]);
    expectRefusal(deleting, 4, /session held is in use by process \d+.*nothing was deleted/, "--dry-run");
    expect(json<{ unreferenced: { id: string }[]; writers: { session: string }[] }>(listing)).toMatchObject({
      unreferenced: [{ id, state: "deletable" }],
      writers: [{ session: "held" }],
    });
    expect(await world.deps.blobs.list()).toEqual([id]);
    child.process.kill("SIGKILL");
    await child.ended;
    expect((await world.call("sessions", "gc")).code).toBe(0);
    expect(await world.deps.blobs.list()).toEqual([]);
  });
});

describe("palimpsest sessions gc", () => {
  it("lists in words and JSON, deletes without --dry-run, and sweeps what a crash left", async () => {
    const world = await worldWithProject();
    const session = await openedSession(world.deps, "s", "create");
    await append(session, user("Go."), reply("m1", call("t1")), ...(await offloaded(world.deps, "t1", "long")));
    await session.close();
    const [named = ""] = await world.deps.blobs.list();
    const [old, young] = [await put(world, "old"), await put(world, "young")];
    await makeOld(world, named, old);
    const left = join(world.folder, "blobs", `${old}.123e4567-e89b-42d3-a456-426614174000.tmp`);
    const notOurs = join(world.folder, "somebody.tmp");
    for (const path of [left, notOurs]) {
      await writeFile(path, "half");
      await utimes(path, 1, 1);
    }
    const dry = await world.call("sessions", "gc", "--dry-run");
    expect(dry.out).toMatch(new RegExp(`${old} +3 B .*\n`));
    expect(dry.out).toMatch(new RegExp(`${young} +5 B .* too young to delete\n`));
    expect(dry.out).toMatch(/would delete 1 of 3 blobs and 1 temporary files, 7 B\n$/);
    expect(dry.out).not.toContain(named);
    const report = json<{ bytesFreed: number }>(await world.call("sessions", "gc", "--json"));
    expect(report).toMatchObject({ mode: "delete", blobs: 3, bytesFreed: 7 });
    expect((await world.deps.blobs.list()).toSorted()).toEqual([named, young].toSorted());
    expect([existsSync(left), existsSync(notOurs)]).toEqual([false, true]);
  });

  it.skipIf(process.platform === "win32")(
    "sweeps only what lies in the project itself: behind a link it is somebody else's (skipped where links need rights)",
    async () => {
      const world = await worldWithProject();
      const left = (name: string): string => `${name}.123e4567-e89b-42d3-a456-426614174000.tmp`;
      const elsewhere = join(world.work, "elsewhere");
      await mkdir(elsewhere);
      await mkdir(join(world.folder, "s"));
      const own = [join(world.folder, left("s.jsonl")), join(world.folder, "s", left("deep"))];
      const theirs = [join(elsewhere, left("in-a-linked-folder")), join(world.work, left("a-linked-file"))];
      for (const path of [...own, ...theirs]) {
        await writeFile(path, "half");
        await utimes(path, 1, 1);
      }
      const links = [join(world.folder, "linked"), join(world.folder, left("linked"))];
      await symlink(elsewhere, links[0] ?? "");
      await symlink(theirs[1] ?? "", links[1] ?? "");
      const report = json<{ temporaries: { path: string }[]; bytesFreed: number }>(
        await world.call("sessions", "gc", "--json"),
      );
      expect(report.temporaries.map(({ path }) => path).toSorted()).toEqual(own.toSorted());
      expect(report.bytesFreed).toBe(8);
      expect(own.filter((path) => existsSync(path))).toEqual([]);
      expect([...theirs, ...links].filter((path) => !existsSync(path))).toEqual([]);
    },
  );

  it("a folder that is no project has nothing to collect, and stays none", async () => {
    const world = await newWorld();
    await rm(world.folder, { recursive: true });
    expect(await world.call("sessions", "gc")).toMatchObject({
      code: 0,
      out: expect.stringMatching(/no project yet/) as string,
    });
    expect(await readdir(join(world.home, "projects"))).toEqual([]);
  });
});
