import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFile, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { type SpendEntry, sumSpend } from "../../packages/palimpsest/src/cache/background-budget.ts";
import { millis, nanoUsd } from "../../packages/palimpsest/src/schema/brand.ts";
import { fileSpendLog } from "../../packages/palimpsest/src/store/files/file-spend-log.ts";
import { memorySpendLog } from "../../packages/palimpsest/src/store/memory/store.ts";
import { spendLogContract } from "./spend-log.ts";
import { temporaryFolder } from "./temporary-folder.ts";

spendLogContract({ name: "files", make: async () => fileSpendLog({ folder: await temporaryFolder() }) });
spendLogContract({ name: "memory", make: async () => memorySpendLog() });

const noon = millis(Date.UTC(2026, 10, 17, 12));
const entry = (nanos: number): SpendEntry => ({ at: noon, source: "main", nanos: nanoUsd(nanos) });
const all = millis(0);
const dayFile = (folder: string): string => join(folder, ".spend", "2026-11-17.jsonl");

describe("a spend log in files", () => {
  it("loses and tears nothing that two processes add at once", async () => {
    const folder = await temporaryFolder();
    const script = resolve(import.meta.dirname, "../scenario/child/spend-writer.ts");
    const count = 400;
    const start = String(Date.now() + 400);
    const args = (source: string) => ["--conditions=@palimpsest/source", script, folder, source, String(count), start];
    const writers = ["main", "dream"].map((source) => spawn(process.execPath, args(source), { stdio: "inherit" }));
    await Promise.all(writers.map((writer) => once(writer, "close")));
    const { mainNanos, backgroundNanos } = await fileSpendLog({ folder }).since(all);
    expect([mainNanos, backgroundNanos]).toEqual([(count * (count + 1)) / 2, (count * (count + 1)) / 2]);
    // A writer that takes the other's unfinished line for a torn one begins with an empty line.
    const lines = (await readFile(dayFile(folder), "utf8")).split("\n").filter((line) => line !== "");
    expect(lines).toHaveLength(2 * count);
    for (const line of lines) expect(() => JSON.parse(line) as unknown).not.toThrow();
  });

  it("has one short line for each entry, readable for its owner alone whatever the umask is", async () => {
    const folder = await temporaryFolder();
    const before = process.umask(0);
    try {
      await fileSpendLog({ folder }).add(entry(8_550_000));
    } finally {
      process.umask(before);
    }
    expect(await readFile(dayFile(folder), "utf8")).toBe('{"at":1794916800000,"source":"main","nanos":8550000}\n');
    expect((await stat(dayFile(folder))).mode & 0o777).toBe(0o600);
    expect((await stat(join(folder, ".spend"))).mode & 0o777).toBe(0o700);
  });

  it("ignores damaged lines, and what a killed process left of one damages no other", async () => {
    const folder = await temporaryFolder();
    const log = fileSpendLog({ folder });
    await log.add(entry(1));
    const bad = [
      '{"at":-1,"source":"main","nanos":5}',
      '{"at":1,"source":"x","nanos":5}',
      '{"nanos":1.5}',
      "null",
      "\0\0",
    ];
    await appendFile(dayFile(folder), `${bad.join("\n")}\n{"at":17948`);
    await log.add(entry(2));
    expect(await log.since(all)).toEqual(sumSpend([entry(3)]));
  });

  it("removes whole days when they are over, and nothing else", async () => {
    const folder = await temporaryFolder();
    const own = join(folder, ".spend");
    await mkdir(own);
    for (const name of ["2026-11-08.jsonl", "2026-11-09.jsonl", "2026-11-08.txt"]) await writeFile(join(own, name), "");
    await fileSpendLog({ folder }).add(entry(1));
    expect(await readdir(own)).toEqual(["2026-11-08.txt", "2026-11-09.jsonl", "2026-11-17.jsonl"]);
  });

  it("follows no link, in place of a day or of the folder", async () => {
    const folder = await temporaryFolder();
    const elsewhere = await temporaryFolder();
    const target = join(elsewhere, "2026-11-17.jsonl");
    await writeFile(target, '{"at":1794916800000,"source":"main","nanos":7}\n');
    const log = fileSpendLog({ folder });
    const check = async (): Promise<void> => {
      await log.add(entry(1));
      expect(await log.since(all)).toEqual(sumSpend([]));
      expect((await readFile(target, "utf8")).split("\n")).toHaveLength(2);
    };
    await symlink(elsewhere, join(folder, ".spend"));
    await check();
    await rm(join(folder, ".spend"));
    await mkdir(join(folder, ".spend"));
    await symlink(target, dayFile(folder));
    await check();
  });

  it("rejects nothing if the disk refuses, and does not bring a removed project folder back", async () => {
    const base = await temporaryFolder();
    const gone = fileSpendLog({ folder: join(base, "gone") });
    await gone.add(entry(1));
    expect(await gone.since(all)).toEqual(sumSpend([]));
    await mkdir(join(base, "p", ".spend", "2026-11-17.jsonl"), { recursive: true });
    const blocked = fileSpendLog({ folder: join(base, "p") });
    await blocked.add(entry(1));
    expect(await blocked.since(all)).toEqual(sumSpend([]));
    expect(await readdir(base)).toEqual(["p"]);
  });
});
