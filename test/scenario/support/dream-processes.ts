import { spawn } from "node:child_process";
import { cp, readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished } from "vitest";
import type { Memories } from "../../../packages/palimpsest/src/ports/memories.ts";
import { fileDreamLeases } from "../../../packages/palimpsest/src/store/files/file-dream-lease.ts";
import { fileMemories } from "../../../packages/palimpsest/src/store/files/file-memories.ts";
import { held } from "../../contract/dream-lease.ts";
import { storeDeps } from "../../contract/store-deps.ts";
import { temporaryFolder } from "../../contract/temporary-folder.ts";
import { runNode } from "./command-line.ts";

const child = (name: string): string => resolve(import.meta.dirname, "../child", name);

interface Racer {
  /** Tells it to dream; resolves with how it went. */
  readonly dream: (day: number) => Promise<string>;
}

async function startRacer(folder: string, name: string): Promise<Racer> {
  const racer = spawn(process.execPath, ["--conditions=@palimpsest/source", child("dream-racer.ts"), folder, name], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => void racer.kill());
  const lines = createInterface({ input: racer.stdout })[Symbol.asyncIterator]();
  await lines.next();
  return {
    dream: async (day) => {
      racer.stdin.write(`${day}\n`);
      const { value } = (await lines.next()) as { value: string };
      return value;
    },
  };
}

/** Two processes want to dream at the same time, each time a day later: one does, and the other one is told. */
export async function expectOneDreams(rounds: number): Promise<void> {
  const folder = join(await temporaryFolder(), "p");
  const memories = fileMemories({ deps: storeDeps, folder: join(folder, "memory") });
  await seedLog(memories, rounds);
  const racers = await Promise.all(["left", "right"].map((name) => startRacer(folder, name)));
  const winners = new Set<string>();
  for (let day = 1; day <= rounds; day += 1) {
    const outcomes = await Promise.all(racers.map((racer) => racer.dream(day)));
    expect(outcomes.filter((outcome) => outcome === `${day} dreamt`)).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === `${day} busy` || outcome === `${day} too-soon`)).toHaveLength(1);
    winners.add(outcomes[0] === `${day} dreamt` ? "left" : "right");
  }
  const dreams = (await memories.history()).filter(({ author }) => author === "dream");
  expect(dreams).toHaveLength(rounds);
  const lines = (await memories.read("dreams.md"))?.text.trimEnd().split("\n") ?? [];
  expect(lines.map((line) => Number(/\d+/.exec(line)?.[0]))).toEqual(Array.from({ length: rounds }, (_, at) => at + 1));
  expect(await readdir(join(folder, "memory", ".history"))).toEqual(["log.jsonl"]);
}

/** The sentences that the dreams will write have to stand somewhere. */
async function seedLog(memories: Memories, rounds: number): Promise<void> {
  const lines = Array.from({ length: rounds }, (_, at) => `Dream ${at + 1} of left.\nDream ${at + 1} of right.\n`);
  await save(memories, { "logs/2026/01/01.md": lines.join(""), "first.md": "Dream of left. Dream of right.\n" });
}

async function save(memories: Memories, textByPath: Readonly<Record<string, string>>): Promise<void> {
  const outcome = await memories.commit({
    author: "agent",
    provenance: { at: storeDeps.now(), trust: "trusted" },
    message: "save",
    changes: Object.entries(textByPath).map(([path, text]) => ({ path, expected: "absent", text })),
  });
  expect(outcome.kind).toBe("committed");
}

const before = { "a.md": "Use tabs.\n", "b.md": "Deploys run on Friday.\n" };
const after = { "a.md": "Use tabs.\nDeploys run on Friday.\n" };

/**
 * Kills a dream before every change to the disk that it makes and in the middle of every write, or at some of them. Each time
 * the directory is the old or the new one, whole, with its index; the next process takes the lock; and the time of the last
 * dream tells whether there was one.
 */
export async function expectWholeAfterKill(which: "some" | "all"): Promise<void> {
  const root = await temporaryFolder();
  const original = join(root, "original");
  await save(fileMemories({ deps: storeDeps, folder: join(original, "memory") }), before);
  const run = async (name: string, ...args: readonly string[]) => {
    const folder = join(root, name);
    await cp(original, folder, { recursive: true });
    return { folder, ...(await runNode({ home: root }, child("dream-once.ts"), folder, ...args)) };
  };
  const whole = await run("whole");
  expect(whole).toMatchObject({ code: 0, err: "" });
  const { kind, changes } = JSON.parse(whole.out) as { kind: string; changes: readonly string[] };
  expect(kind).toBe("dreamt");
  expect(await readState(whole.folder)).toBe("new");
  const kills = changes.flatMap((change, at) => [
    { at, how: "before" },
    ...(change === "write" ? [{ at, how: "half" }] : []),
  ]);
  const chosen = which === "all" ? kills : pick(kills, someKills);
  const states: string[] = [];
  for (let from = 0; from < chosen.length; from += 2)
    states.push(
      ...(await Promise.all(
        chosen.slice(from, from + 2).map(async ({ at, how }) => {
          const { folder, signal } = await run(`${at}-${how}`, String(at), how);
          expect({ at, how, signal }).toEqual({ at, how, signal: "SIGKILL" });
          return readState(folder);
        }),
      )),
    );
  // Early kills leave the old directory, late ones the new one.
  expect(new Set(states)).toEqual(new Set(["old", "new"]));
  expect(states.toSorted((one, other) => (one === other ? 0 : one === "old" ? -1 : 1))).toEqual(states);
}

const someKills = 12;

/** Evenly, with the first and the last one. */
const pick = <Item>(items: readonly Item[], count: number): readonly Item[] =>
  Array.from(
    { length: Math.min(count, items.length) },
    (_, at) => items.slice(Math.round((at * (items.length - 1)) / (count - 1)))[0],
  ).filter((item) => item !== undefined);

async function readState(folder: string): Promise<"old" | "new"> {
  const directory = join(folder, "memory");
  const memories = fileMemories({ deps: storeDeps, folder: directory });
  const listed = await memories.list();
  const texts: Record<string, string> = {};
  for (const { path, role } of listed) if (role === "memory") texts[path] = (await memories.read(path))?.text ?? "";
  const state = Object.keys(texts).length === 2 ? "old" : "new";
  expect(texts).toEqual(state === "old" ? before : after);
  const index = (await memories.read("MEMORY.md"))?.text ?? "";
  expect(index.includes("](b.md)")).toBe(state === "old");
  const leases = fileDreamLeases({ deps: storeDeps, folder: directory });
  const lease = held(await leases.acquire());
  if (state === "old") expect(lease.lastAt).toBeUndefined();
  await lease.succeed();
  // What is left is the history, and locks' own unfinished files at most, which no reader looks at.
  expect((await readdir(directory)).toSorted()).toEqual(
    [".consolidate-lock", ".history", "MEMORY.md", ...Object.keys(texts)].toSorted(),
  );
  return state;
}
