import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFile, readFile, stat, truncate } from "node:fs/promises";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { teammateAddress } from "../../packages/palimpsest/src/schema/agent-address.ts";
import { taskId } from "../../packages/palimpsest/src/schema/brand.ts";
import { fileTaskLists } from "../../packages/palimpsest/src/store/files/file-task-lists.ts";
import { memoryTaskLists } from "../../packages/palimpsest/src/store/memory/memory-task-lists.ts";
import { storeDeps } from "./store-deps.ts";
import { createTask, taskListsContract } from "./task-list.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const openFiles = (folder: string) => fileTaskLists({ deps: storeDeps, folder, durability: "never" });

taskListsContract({ name: "files", make: async () => openFiles(await temporaryFolder()) });
taskListsContract({ name: "memory", make: async () => memoryTaskLists(storeDeps) });

describe("a task list in files", () => {
  it("gives each task to one of several processes, and none is left", async () => {
    const folder = await temporaryFolder();
    const list = openFiles(folder).open("docs");
    const count = 40;
    for (let n = 0; n < count; n += 1) await createTask(list, String(n));
    const script = resolve(import.meta.dirname, "../scenario/child/task-claimer.ts");
    const start = String(Date.now() + 400);
    const claimers = ["ann", "bob", "cid"].map((name) => {
      const args = ["--conditions=@palimpsest/source", script, folder, name, start];
      const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
      let output = "";
      child.stdout.on("data", (data: Buffer) => (output += data.toString()));
      return once(child, "close").then(() =>
        output
          .trimEnd()
          .split("\n")
          .filter((line) => line !== ""),
      );
    });
    const claimed = await Promise.all(claimers);
    expect(claimed.flat().toSorted()).toEqual(Array.from({ length: count }, (_, n) => String(n)).toSorted());
    expect((await list.list()).every(({ state }) => state === "claimed")).toBe(true);
  });

  it("reads no torn line, repairs it, and is readable for its owner alone", async () => {
    const folder = await temporaryFolder();
    const path = join(folder, "teams", "docs", "tasks.jsonl");
    const list = openFiles(folder).open("docs");
    await createTask(list, "1");
    await createTask(list, "2");
    await truncate(path, (await stat(path)).size - 9);
    await appendFile(path, "");
    const again = openFiles(folder).open("docs");
    expect((await again.list()).map(({ id }) => id)).toEqual(["1"]);
    await createTask(again, "2");
    for (const one of [list, again]) expect((await one.list()).map(({ id }) => id)).toEqual(["1", "2"]);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it("does not grow with every change", async () => {
    const folder = await temporaryFolder();
    const path = join(folder, "teams", "docs", "tasks.jsonl");
    const list = openFiles(folder).open("docs");
    await createTask(list, "1");
    const ann = teammateAddress("ann", "docs");
    for (let n = 0; n < 110; n += 1) {
      await list.claim(taskId("1"), ann);
      await list.release(taskId("1"), ann);
    }
    expect((await readFile(path, "utf8")).split("\n").length).toBeLessThan(205);
    expect(await openFiles(folder).open("docs").list()).toEqual(await list.list());
  });
});
