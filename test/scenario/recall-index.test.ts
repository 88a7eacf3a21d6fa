import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as wait } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { maskSecrets } from "../../packages/palimpsest/src/text/find-secrets.ts";
import type { RecallIndex, RecallSource } from "../../packages/palimpsest/src/ports/recall-index.ts";
import { sessionSource } from "../../packages/palimpsest/src/session/recall-sources.ts";
import { recallIndexPath } from "../../packages/palimpsest/src/store/files/file-recall.ts";
import { memorySource } from "../../packages/palimpsest/src/store/files/text-source.ts";
import { filePorts } from "../../packages/palimpsest/src/store/files/store.ts";
import { SpokenLog } from "../../bench/spoken-log.ts";
import { storeDeps } from "../contract/store-deps.ts";
import { temporaryFolder } from "../contract/temporary-folder.ts";
import { answered, called, MadeSource, replied, said } from "../fixture/made-source.ts";
import { fakeSecrets } from "../fixture/secrets.ts";
import { storedText } from "./support/stored-index.ts";

/** The index in files: processes, kills, and what is on the disk. */

const sessions = 5;

/** A project folder with some sessions, of 200 KB each. */
async function madeProject(): Promise<string> {
  const folder = join(await temporaryFolder(), "projects", "p");
  await mkdir(folder, { recursive: true });
  const log = new SpokenLog();
  for (let n = 0; n < sessions; n += 1) {
    const lines = [JSON.stringify({ type: "user", uuid: `first-${n}`, message: { content: `zebra number ${n}` } })];
    for (let bytes = 0; bytes < 200_000;)
      for (const line of log.round()) {
        lines.push(line);
        bytes += line.length;
      }
    await writeFile(join(folder, `${sessionName(n)}.jsonl`), `${lines.join("\n")}\n`);
  }
  return folder;
}

const sessionName = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;

async function opened(folder: string, ...others: readonly RecallSource[]): Promise<RecallIndex> {
  const ports = filePorts({ deps: storeDeps, folder, durability: "never" });
  const outcome = await ports.recall.open({ sources: [sessionSource(ports), ...others], maskText: maskSecrets });
  if (outcome.kind !== "open") throw new Error(outcome.kind);
  onTestFinished(() => outcome.index.close().catch(() => {}));
  return outcome.index;
}

/** What an index holds, apart from the order in which it was written. */
async function contents(index: RecallIndex) {
  const { bytes: _, ...state } = await index.state();
  const queries = ["zebra number", "value", "the plan", "request"];
  const found = [];
  for (const query of queries) {
    const searched = await index.search({ query, pageSize: 50 });
    found.push(searched.kind === "found" ? searched.hits.map(({ id, snippet }) => `${id} ${snippet}`).toSorted() : []);
  }
  return { state, found };
}

const script = resolve(import.meta.dirname, "child/index-sessions.ts");
const indexing = (folder: string) =>
  spawn(process.execPath, ["--conditions=@palimpsest/source", script, folder], { stdio: ["ignore", "pipe", "pipe"] });

it("a process that is killed while it indexes leaves a usable index, which catches up to the same contents", async () => {
  const folder = await madeProject();
  const whole = await opened(folder);
  const start = performance.now();
  await whole.catchUp();
  const took = performance.now() - start;
  const wanted = await contents(whole);
  await whole.close();
  let inTheMiddle = 0;
  const kills = process.env["PALIMPSEST_LONG"] === undefined ? 5 : 60;
  for (let n = 0; n < kills; n += 1) {
    await rm(recallIndexPath(folder));
    const child = indexing(folder);
    // It may end before it is killed.
    const exited = once(child, "exit");
    const [said] = (await once(child.stdout, "data")) as [Buffer];
    expect(String(said)).toContain("begins");
    await wait(((n + 0.5) / kills) * took);
    child.kill("SIGKILL");
    await exited;
    const index = await opened(folder);
    const { passages } = await index.state();
    if (passages > 0 && passages < wanted.state.passages) inTheMiddle += 1;
    expect((await index.search({ query: "zebra number" })).kind).toBe("found");
    expect(await index.catchUp()).toMatchObject({ kind: "caught-up" });
    expect(await contents(index)).toEqual(wanted);
    await index.close();
  }
  expect(inTheMiddle).toBeGreaterThan(0);
}, 120_000);

it("two processes that index at once write each passage once", async () => {
  const folder = await madeProject();
  const children = [indexing(folder), indexing(folder), indexing(folder)];
  const outputs = await Promise.all(
    children.map(async (child) => {
      let out = "";
      child.stdout.on("data", (data: Buffer) => (out += String(data)));
      const [code] = (await once(child, "exit")) as [number];
      return { code, out };
    }),
  );
  for (const { code, out } of outputs) expect({ code, out }).toMatchObject({ code: 0, out: /caught-up/ });
  const index = await opened(folder);
  expect(await index.catchUp()).toMatchObject({ documents: 0 });
  const both = await contents(index);
  await index.close();
  await rm(recallIndexPath(folder));
  const alone = await opened(folder);
  await alone.catchUp();
  expect(both).toEqual(await contents(alone));
}, 60_000);

it("once it has caught up, nothing is written and no time is used", async () => {
  const folder = await madeProject();
  const locked = new MadeSource("other");
  locked.append("locked", said("u", "listed, but can't be opened"));
  locked.locked.add("locked");
  const index = await opened(folder, locked);
  await index.catchUp();
  await index.search({ query: "zebra" });
  const before = await files(folder);
  const cpu = process.cpuUsage();
  await wait(300);
  const used = process.cpuUsage(cpu);
  await index.catchUp();
  await index.search({ query: "zebra" });
  expect(await files(folder)).toEqual(before);
  expect(used.user + used.system).toBeLessThan(150_000);
});

it("is readable for its owner only, with everything that SQLite keeps beside it", async () => {
  const folder = await madeProject();
  const index = await opened(folder);
  await index.catchUp();
  const own = (await readdir(folder)).filter((name) => name.startsWith("recall.db"));
  expect(own).toContain("recall.db-wal");
  for (const name of own) expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
});

it.each([
  [
    "no database",
    async (path: string) => writeFile(path, "this is no database, but some text of another program".repeat(99)),
  ],
  ["empty", async (path: string) => writeFile(path, "")],
  [
    "damaged in the middle",
    async (path: string) => {
      const bytes = await readFile(path);
      bytes.fill(0x5a, 4096 * 3, bytes.length - 4096);
      await writeFile(path, bytes);
    },
  ],
  ["deleted", async (path: string) => rm(path)],
])("an index file that is %s is made anew", async (_, damage) => {
  const folder = await madeProject();
  const first = await opened(folder);
  await first.catchUp();
  const wanted = await contents(first);
  await first.close();
  await damage(recallIndexPath(folder));
  const index = await opened(folder);
  await index.search({ query: "zebra number" });
  await index.catchUp();
  await index.search({ query: "zebra number" });
  await index.catchUp();
  expect(await contents(index)).toEqual(wanted);
});

it("a link in the place of the index is not followed", async () => {
  const folder = await madeProject();
  const elsewhere = join(folder, "..", "elsewhere");
  await writeFile(elsewhere, "precious");
  await symlink(elsewhere, recallIndexPath(folder));
  const ports = filePorts({ deps: storeDeps, folder, durability: "never" });
  expect(await ports.recall.open({ sources: [], maskText: maskSecrets })).toMatchObject({ kind: "failed" });
  expect(await readFile(elsewhere, "utf8")).toBe("precious");
});

it("has no secret in its files: in texts, titles or paths, compressed or not", async () => {
  const folder = await madeProject();
  const source = new MadeSource("other");
  for (const [n, { text }] of fakeSecrets.entries()) {
    source.append(`s${n}`, said(`u${n}`, text), called(`c${n}`, `t${n}`, { file_path: text.replaceAll("\n", " ") }));
    source.append(`s${n}`, answered(`r${n}`, `t${n}`, `zebra\n${text}`), replied(`a${n}`, text));
    source.titleByKey.set(`s${n}`, text);
  }
  const index = await opened(folder, source);
  await index.catchUp();
  const stored = await storedText(folder);
  expect(stored).toContain("[secret: github-token]");
  expect(fakeSecrets.filter(({ secret }) => stored.includes(secret)).map(({ kind }) => kind)).toEqual([]);
});

it("forgotten sessions are on the disk no more, not even while it is open, and other work goes on meanwhile", async () => {
  const folder = await madeProject();
  const forgotten = [90, 91, 92].map((n) => ({
    id: sessionName(n),
    path: join(folder, `${sessionName(n)}.jsonl`),
    word: `quaggaword${n}`,
  }));
  for (const { path, word } of forgotten) {
    const line = { type: "user", uuid: "u", message: { content: `the ${word} was here` } };
    await writeFile(path, `${JSON.stringify(line)}\n`);
  }
  const index = await opened(folder);
  await index.catchUp();
  expect(await storedText(folder)).toContain("quaggaword");
  for (const { path } of forgotten) await rm(path);
  let turns = 0;
  let isDone = false;
  const count = (): void => {
    turns += 1;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  expect(await index.forget(forgotten.map(({ id }) => id))).toEqual({ kind: "forgotten", documents: 3 });
  isDone = true;
  expect(turns).toBeGreaterThan(3);
  expect(await storedText(folder)).not.toContain("quaggaword");
  expect(await total(index, "quaggaword91")).toBe(0);
  expect(await total(index, "zebra")).toBe(sessions);
  await index.catchUp();
  const before = await files(folder);
  expect(await index.catchUp()).toEqual({ kind: "caught-up", documents: 0, passages: 0 });
  expect(await files(folder)).toEqual(before);
});

it("what a killed process left of forgotten words is erased by the next one that catches up", async () => {
  const folder = await madeProject();
  const path = join(folder, `${sessionName(90)}.jsonl`);
  await writeFile(path, `${JSON.stringify({ type: "user", uuid: "u", message: { content: "a quaggaword" } })}\n`);
  const index = await opened(folder);
  await index.catchUp();
  await rm(path);
  // As if it was killed after its first transaction.
  const database = new DatabaseSync(recallIndexPath(folder));
  database.exec("insert into marks (name) values ('erase')");
  database.close();
  await index.catchUp();
  expect(await storedText(folder)).not.toContain("quaggaword");
});

it("a forgotten memory is neither found nor on the disk", async () => {
  const folder = await madeProject();
  const ports = filePorts({ deps: storeDeps, folder, durability: "never" });
  const source = memorySource(join(folder, "memory"));
  await mkdir(join(folder, "memory"));
  await writeFile(join(folder, "memory", "stays.md"), "the okapi stays");
  await writeFile(join(folder, "memory", "goes.md"), "the quaggaword goes");
  const before = await opened(folder, source);
  await before.catchUp();
  expect(await total(before, "quaggaword")).toBe(1);
  expect(await ports.memories.purge(["goes.md"])).toMatchObject({ kind: "purged" });
  expect(await total(before, "quaggaword")).toBe(0);
  expect(await total(before, "okapi")).toBe(1);
  expect(await storedText(folder)).not.toContain("quaggaword");
});

async function total(index: RecallIndex, query: string): Promise<number> {
  const searched = await index.search({ query });
  return searched.kind === "found" ? searched.total : 0;
}

async function files(folder: string): Promise<Readonly<Record<string, string>>> {
  const names = await readdir(folder);
  const stats = await Promise.all(names.map((name) => stat(join(folder, name))));
  return Object.fromEntries(names.map((name, at) => [name, `${stats[at]?.mtimeMs} ${stats[at]?.size}`]));
}
