import { writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { fileLeases } from "../../packages/palimpsest/src/store/files/file-leases.ts";
import { memoryLeases } from "../../packages/palimpsest/src/store/memory/memory-transcripts.ts";
import { leasesContract } from "./leases.ts";
import { storeDeps } from "./store-deps.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const folderOf = new WeakMap<object, string>();

leasesContract({
  name: "files",
  make: async () => {
    const folder = join(await temporaryFolder(), "projects", "p");
    const leases = fileLeases({ deps: storeDeps, folder });
    folderOf.set(leases, folder);
    return leases;
  },
  leave: async (leases, name) => {
    const outcome = await leases.acquire(name);
    if (outcome.kind === "acquired") await outcome.lease.release();
    const dead = { token: "t", pid: 2 ** 22 + 1, processStarted: null, host: hostname(), since: "2026-01-01" };
    await writeFile(join(folderOf.get(leases) ?? "", `${name}.lock`), JSON.stringify(dead));
  },
});

leasesContract({ name: "memory", make: async () => memoryLeases(storeDeps), leave: "they end with their process" });

it.each([
  ["files", async () => fileLeases({ deps: storeDeps, folder: await temporaryFolder() })],
  ["memory", async () => memoryLeases(storeDeps)],
] as const)("the holder of a lease in %s is told as the process that has it, and since when", async (_, make) => {
  const leases = await make();
  const outcome = await leases.acquire("s");
  onTestFinished(() => (outcome.kind === "acquired" ? outcome.lease.release() : undefined));
  const holder = expect.stringMatching(new RegExp(`^process ${process.pid} on this machine since \\d{4}-`)) as unknown;
  expect(await leases.acquire("s")).toEqual({ kind: "busy", holder });
});

it("a name that would leave the folder is refused", async () => {
  const leases = fileLeases({ deps: storeDeps, folder: await temporaryFolder() });
  expect(await leases.acquire("../s")).toMatchObject({ kind: "failed", why: "io" });
  expect(await leases.look("../s")).toEqual({ kind: "free" });
});
