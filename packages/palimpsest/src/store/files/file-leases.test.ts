import { link, lstat, mkdir, readFile, readdir, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { storeDeps } from "../../../../../test/contract/store-deps.ts";
import { makePipe } from "../../../../../test/fixture/pipe.ts";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import { unreadableLockStaleMs } from "../limits.ts";
import type { Lease } from "../../ports/store.ts";
import { acquireLock } from "./file-leases.ts";
import { type ProcessState, lookAtProcess } from "./look-at-process.ts";

const host = hostname();
const self = { ...storeDeps, host, lookAtProcess };
const lockPath = async (): Promise<string> => join(await temporaryFolder(), "s.lock");
const record = (more: object) =>
  JSON.stringify({ token: "t", pid: 1, processStarted: null, host, since: "2026-01-01T00:00:00.000Z", ...more });

async function take(path: string, deps = self): Promise<Lease> {
  const outcome = await acquireLock(deps, path);
  if (outcome.kind !== "acquired") throw new Error(JSON.stringify(outcome));
  onTestFinished(() => outcome.lease.release());
  return outcome.lease;
}

it("holds who has it, readable only for the owner, and leaves no other file", async () => {
  const path = await lockPath();
  await take(path);
  const content = JSON.parse(await readFile(path, "utf8")) as object;
  expect(content).toEqual({
    token: expect.any(String) as unknown,
    pid: process.pid,
    processStarted: expect.any(String) as unknown,
    host,
    since: expect.any(String) as unknown,
  });
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await readdir(join(path, ".."))).toEqual(["s.lock"]);
});

it("is gone after its release", async () => {
  const path = await lockPath();
  await (await take(path)).release();
  expect(await readdir(join(path, ".."))).toEqual([]);
});

describe("a lock that is there", () => {
  const withProcess = (seen: ProcessState) => ({
    ...self,
    lookAtProcess: async (pid: number) => (pid === process.pid ? lookAtProcess(pid) : seen),
  });

  it("is busy while its process lives", async () => {
    const path = await lockPath();
    await writeFile(path, record({ pid: 4242, processStarted: "boot/7" }));
    expect(await acquireLock(withProcess({ kind: "alive", started: "boot/7" }), path)).toEqual({
      kind: "busy",
      holder: "process 4242 on this machine since 2026-01-01T00:00:00.000Z",
    });
  });

  it("is taken over when its process is dead", async () => {
    const path = await lockPath();
    await writeFile(path, record({ pid: 4242 }));
    await take(path, withProcess({ kind: "dead" }));
    expect(await readdir(join(path, ".."))).toEqual(["s.lock"]);
  });

  it("is taken over when its pid now belongs to a later process", async () => {
    const path = await lockPath();
    await writeFile(path, record({ pid: 4242, processStarted: "boot/7" }));
    const lock = await take(path, withProcess({ kind: "alive", started: "boot/8" }));
    expect(await lock.state()).toBe("held");
  });

  it("is taken over when its pid is ours by chance", async () => {
    const path = await lockPath();
    await writeFile(path, record({ pid: process.pid, processStarted: "an earlier boot/7" }));
    expect(await (await take(path)).state()).toBe("held");
  });

  it("counts as held where the system does not tell when a process began", async () => {
    const path = await lockPath();
    await writeFile(path, record({ pid: 4242, processStarted: "boot/7" }));
    expect((await acquireLock(withProcess({ kind: "alive", started: undefined }), path)).kind).toBe("busy");
  });

  it("counts as held on another machine, and the answer says what to do if it is not", async () => {
    const path = await lockPath();
    await writeFile(path, record({ host: "elsewhere", pid: 4242 }));
    const outcome = await acquireLock(withProcess({ kind: "dead" }), path);
    expect(outcome).toMatchObject({
      kind: "busy",
      holder: expect.stringMatching(/process 4242 on elsewhere since .*delete .*s\.lock/) as unknown,
    });
  });

  it.each(["", "{", "[]", '{"pid":"x"}'])(
    "without readable content (%j) is held while it is young and stale when it is old",
    async (content) => {
      const path = await lockPath();
      await writeFile(path, content);
      expect((await acquireLock(self, path)).kind).toBe("busy");
      const old = (Date.now() - unreadableLockStaleMs) / 1000 - 1;
      await utimes(path, old, old);
      await take(path);
    },
  );

  it("without readable content, dated in the future, is stale: nobody waits for that date", async () => {
    const path = await lockPath();
    await writeFile(path, "{");
    const nextYear = Date.now() / 1000 + 365 * 24 * 3600;
    await utimes(path, nextYear, nextYear);
    expect(await (await take(path)).state()).toBe("held");
  });

  it("says it was taken in the future and is judged by its process alone", async () => {
    const path = await lockPath();
    await writeFile(path, record({ pid: 4242, since: "2999-01-01T00:00:00.000Z" }));
    await take(path, withProcess({ kind: "dead" }));
  });
});

describe.skipIf(process.platform === "win32")(
  "what no process of ours puts in a lock's place is taken over at once",
  () => {
    it.each<[string, (path: string, folder: string) => Promise<void>]>([
      ["a pipe", async (path) => makePipe(path)],
      ["a link that leads nowhere", async (path, folder) => symlink(join(folder, "nowhere"), path)],
      ["a link to itself", async (path) => symlink(path, path)],
      [
        "a link to a lock that lives",
        async (path, folder) => {
          await take(join(folder, "other.lock"));
          await symlink(join(folder, "other.lock"), path);
        },
      ],
    ])("%s", async (_, put) => {
      const path = await lockPath();
      await put(path, join(path, ".."));
      expect(await (await take(path)).state()).toBe("held");
      expect((await lstat(path)).isFile()).toBe(true);
    });

    it("but a folder, which may hold something, is refused", async () => {
      const path = await lockPath();
      await mkdir(path);
      expect(await acquireLock(self, path)).toMatchObject({
        kind: "failed",
        message: expect.stringMatching(/s\.lock \(not a file: move away what stands in its place\)/) as unknown,
      });
    });
  },
);

describe("the holder", () => {
  it("notices that another lock stands in the place of its own, and leaves that one alone", async () => {
    const path = await lockPath();
    const lock = await take(path);
    await rm(path);
    await writeFile(path, "another's");
    expect(await lock.state()).toBe("lost");
    await lock.release();
    expect(await readFile(path, "utf8")).toBe("another's");
  });

  it("waits for a lock that is away for a moment, and gives one up that stays away", async () => {
    const path = await lockPath();
    const lock = await take(path);
    await link(path, `${path}.aside`);
    await rm(path);
    const state = lock.state();
    await link(`${path}.aside`, path);
    expect(await state).toBe("held");
    await rm(path);
    expect(await lock.state()).toBe("lost");
  });
});

it("goes to exactly one of many that find the same stale lock", async () => {
  const path = await lockPath();
  for (let round = 0; round < 5; round += 1) {
    await writeFile(path, record({ pid: process.pid, processStarted: "an earlier boot/7" }));
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => acquireLock(self, path)));
    const locks = outcomes.flatMap((outcome) => (outcome.kind === "acquired" ? [outcome.lease] : []));
    const states = await Promise.all(locks.map((lock) => lock.state()));
    expect(states.filter((state) => state === "held").length, `round ${round}`).toBe(1);
    for (const lock of locks) await lock.release();
    expect(await readdir(join(path, ".."))).toEqual([]);
  }
});
