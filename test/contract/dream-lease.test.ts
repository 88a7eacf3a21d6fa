import { mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { millis } from "../../packages/palimpsest/src/schema/brand.ts";
import { fileDreamLeases } from "../../packages/palimpsest/src/store/files/file-dream-lease.ts";
import { acquireLock } from "../../packages/palimpsest/src/store/files/file-leases.ts";
import { lookAtProcess } from "../../packages/palimpsest/src/store/files/look-at-process.ts";
import { memoryDreamLeases } from "../../packages/palimpsest/src/store/memory/memory-dream-lease.ts";
import { dreamLeasesContract, held } from "./dream-lease.ts";
import { storeDeps } from "./store-deps.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const folderByLeases = new WeakMap<object, string>();
const deadPid = 2 ** 22 + 1;

dreamLeasesContract({
  name: "files",
  make: async ({ now }) => {
    const folder = join(await temporaryFolder(), "memory");
    const leases = fileDreamLeases({ deps: { ...storeDeps, now }, folder });
    folderByLeases.set(leases, folder);
    return leases;
  },
  leave: async (leases) => {
    held(await leases.acquire());
    const path = join(folderByLeases.get(leases) ?? "", ".consolidate-lock");
    const body = JSON.parse(await readFile(path, "utf8")) as Record<string, unknown>;
    await writeFile(path, JSON.stringify({ ...body, pid: deadPid }));
  },
});

dreamLeasesContract({
  name: "memory",
  make: async (clock) => memoryDreamLeases(clock),
  leave: "it ends with its process",
});

describe("the lock file of a dream", () => {
  const make = async (over: Partial<Parameters<typeof fileDreamLeases>[0]> = {}) => {
    const folder = join(await temporaryFolder(), "memory");
    const path = join(folder, ".consolidate-lock");
    return { folder, path, leases: fileDreamLeases({ deps: storeDeps, folder, ...over }) };
  };

  it("names the process, its start and the time before while a dream runs, and is empty otherwise", async () => {
    const at = millis(Date.UTC(2026, 10, 2));
    const { folder, path, leases } = await make({ deps: { ...storeDeps, now: () => at } });
    await held(await leases.acquire()).succeed();
    expect([await readFile(path, "utf8"), (await stat(path)).mtimeMs]).toEqual(["", at]);
    const lease = held(await leases.acquire());
    const own = await lookAtProcess(process.pid);
    expect(JSON.parse(await readFile(path, "utf8"))).toMatchObject({
      pid: process.pid,
      processStarted: own.kind === "alive" ? (own.started ?? null) : null,
      host: hostname(),
      earlierMs: at,
    });
    await lease.fail();
    expect(await readFile(path, "utf8")).toBe("");
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await readdir(folder)).toSorted()).toEqual([".consolidate-lock", ".history"]);
    expect(await readdir(join(folder, ".history"))).toEqual([]);
  });

  it("is taken over if the pid belongs to another process by now", async () => {
    const { path, leases } = await make();
    held(await leases.acquire());
    const body = JSON.parse(await readFile(path, "utf8")) as Record<string, unknown>;
    await writeFile(path, JSON.stringify({ ...body, processStarted: "another boot/1" }));
    held(await leases.acquire());
  });

  it("is left alone if its process runs on another machine", async () => {
    const { path, leases } = await make();
    held(await leases.acquire());
    const body = JSON.parse(await readFile(path, "utf8")) as Record<string, unknown>;
    await writeFile(path, JSON.stringify({ ...body, host: "elsewhere", pid: deadPid }));
    expect(await leases.acquire()).toMatchObject({ kind: "busy", state: "running" });
  });

  it("is taken over if its text is a stranger's, after a moment, and counts as a dream at its time", async () => {
    let time = Date.now();
    const { folder, path, leases } = await make({ deps: { ...storeDeps, now: () => millis(time) } });
    await mkdir(folder, { recursive: true });
    await writeFile(path, "4711");
    expect(await leases.acquire()).toMatchObject({ kind: "busy" });
    time += 60_000;
    expect(await leases.lastAt()).toBe(Math.round((await stat(path)).mtimeMs));
    held(await leases.acquire());
  });

  it("is freed in the end if somebody else has the guard when the dream ends", async () => {
    const { folder, path, leases } = await make({ guardWaitMs: millis(20) });
    const lease = held(await leases.acquire());
    const lockDeps = { ...storeDeps, host: hostname(), lookAtProcess };
    const guard = await acquireLock(lockDeps, join(folder, ".history", "dream-guard"));
    if (guard.kind !== "acquired") throw new Error(guard.kind);
    const ended = lease.succeed();
    await wait(80);
    await guard.lease.release();
    await ended;
    expect(await readFile(path, "utf8")).toBe("");
    held(await leases.acquire());
  });

  it("is not written through a link", async () => {
    const { folder, leases } = await make();
    const elsewhere = await temporaryFolder();
    await symlink(elsewhere, folder);
    expect(await leases.acquire()).toMatchObject({ kind: "failed" });
    const other = await make();
    await mkdir(other.folder, { recursive: true });
    await writeFile(join(elsewhere, "victim"), "text");
    await symlink(join(elsewhere, "victim"), other.path);
    expect(await other.leases.lastAt()).toBeUndefined();
    await held(await other.leases.acquire()).succeed();
    expect(await readFile(join(elsewhere, "victim"), "utf8")).toBe("text");
  });

  it("fails with a reason where the disk refuses", async () => {
    const { folder, path, leases } = await make();
    await mkdir(join(path, "inside"), { recursive: true });
    expect(await leases.acquire()).toMatchObject({ kind: "failed" });
    expect(await readdir(join(folder, ".history"))).toEqual([]);
  });
});
