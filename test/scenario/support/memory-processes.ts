import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { expect } from "vitest";
import type { Memories } from "../../../packages/palimpsest/src/ports/memories.ts";
import { fileMemories } from "../../../packages/palimpsest/src/store/files/file-memories.ts";
import { storeDeps } from "../../contract/store-deps.ts";
import { temporaryFolder } from "../../contract/temporary-folder.ts";

const writer = resolve(import.meta.dirname, "../child/memory-writer.ts");

interface WriterProcess {
  readonly child: ChildProcess;
  /** What it has printed so far. */
  readonly output: () => string;
  readonly ended: Promise<unknown>;
}

function startWriter(folder: string, name: string, count: number): WriterProcess {
  const child = spawn(process.execPath, ["--conditions=@palimpsest/source", writer, folder, name, String(count)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.on("data", (data: Buffer) => (output += data.toString()));
  return { child, output: () => output, ended: once(child, "close") };
}

const openFolder = (folder: string): Memories => fileMemories({ deps: storeDeps, folder });

/** Each revision of the file begins with the text with which the one before it ended. */
async function expectCompleteHistory(memories: Memories, path: string): Promise<number> {
  const history = (await memories.history(path)).toReversed();
  let before: string | undefined;
  for (const { changes } of history) {
    const change = changes.find((one) => one.path === path);
    expect(change?.before).toBe(before);
    before = change?.after;
  }
  expect(before).toBe((await memories.read(path))?.hash);
  return history.length;
}

/** Two processes add `count` lines each to one memory, at the same time. */
export async function expectNoLostUpdate(count: number): Promise<void> {
  const folder = join(await temporaryFolder(), "memory");
  const writers = ["left", "right"].map((name) => startWriter(folder, name, count));
  let isWriting = true;
  const ended = Promise.all(writers.map((writer) => writer.ended)).finally(() => (isWriting = false));
  const looks = await expectWholeFiles(folder, () => isWriting);
  await ended;
  expect(looks).toBeGreaterThan(0);
  const memories = openFolder(folder);
  const lines = (await memories.read("shared.md"))?.text.trimEnd().split("\n") ?? [];
  for (const name of ["left", "right"])
    expect(lines.filter((line) => line.startsWith(name))).toEqual(
      Array.from({ length: count }, (_, n) => `${name} ${n}`),
    );
  expect(await expectCompleteHistory(memories, "shared.md")).toBe(2 * count);
  expect((await memories.history()).every(({ author }) => author === "agent")).toBe(true);
  expect((await readdir(join(folder, ".history"))).toSorted()).toEqual(["log.jsonl"]);
}

/** Reads every file as other programs do, while it is written: each is one whole version. Returns how often it found all. */
async function expectWholeFiles(folder: string, isWriting: () => boolean): Promise<number> {
  let looks = 0;
  let longest = 0;
  while (isWriting()) {
    const [shared, left, right, index] = await Promise.all(
      ["shared.md", "left.md", "right.md", "MEMORY.md"].map((name) =>
        readFile(join(folder, name), "utf8").catch(() => undefined),
      ),
    );
    // Each version ends with a whole line, and has all lines of the one before.
    if (shared !== undefined) {
      expect(shared).toMatch(/^(?:(?:left|right) \d+\n)+$/);
      expect(shared.length).toBeGreaterThanOrEqual(longest);
      longest = shared.length;
    }
    for (const number of [left, right]) if (number !== undefined) expect(number).toMatch(/^\d+\n$/);
    if (index !== undefined) expect(index).toMatch(/^(?:- \[[^\]]+\]\([a-z]+\.md\)[^\n]*\n){1,3}$/);
    if ([shared, left, right, index].every((text) => text !== undefined)) looks += 1;
    await wait(1);
  }
  return looks;
}

/** Kills writers in the middle of their commits; each time the directory is whole and the next one goes on. */
export async function expectWholeAfterKills(kills: number): Promise<void> {
  const folder = join(await temporaryFolder(), "memory");
  for (let kill = 0; kill < kills; kill += 1) {
    const { child, output, ended } = startWriter(folder, "writer", 1_000_000);
    while (!output().includes("\n")) await wait(2);
    await wait(Math.random() * 40);
    child.kill("SIGKILL");
    await ended;
    const memories = openFolder(folder);
    const shared = (await memories.read("shared.md"))?.text ?? "";
    // Both files of a change set have the state of the same revision.
    expect(shared.trimEnd().split("\n").at(-1)).toBe(`writer ${(await memories.read("writer.md"))?.text.trim()}`);
    const printed = output().trimEnd().split("\n").at(-1);
    expect(Number(shared.trimEnd().split(" ").at(-1))).toBeGreaterThanOrEqual(Number(printed));
    await expectCompleteHistory(memories, "shared.md");
    expect((await memories.history()).every(({ author }) => author === "agent")).toBe(true);
    expect((await memories.read("MEMORY.md"))?.text).toContain("](shared.md)");
    await removeShared(memories);
  }
}

/** The file would grow beyond its limit. */
async function removeShared(memories: Memories): Promise<void> {
  const change = { path: "shared.md", expected: "any", text: undefined } as const;
  await memories.commit({
    author: "agent",
    provenance: { at: storeDeps.now(), trust: "trusted" },
    message: "again",
    changes: [change],
  });
}
