import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text as textOf } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { ReplayOutcome } from "../../packages/lab/src/replay-outcome.ts";
import { runNode } from "./support/command-line.ts";
import { expectRefusal, json, newWorld, rawLog, said, type World } from "./support/cli-world.ts";

const launcher = join(import.meta.dirname, "../../bin/palimpsest");
const checker = join(import.meta.dirname, "../../examples/check-replay.ts");

/** A session of this many rounds with results that are large enough to be cleared. */
function session(rounds: number): readonly object[] {
  const raw = rawLog();
  const at = (minute: number) => ({ timestamp: new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString() });
  raw.add({ ...said.user("Look at all of it."), ...at(0) });
  for (let round = 0; round < rounds; round += 1) {
    raw.add({ ...said.call(`m${round}`, `toolu_${round}`), ...at(round) });
    raw.add({ ...said.result(`toolu_${round}`, `line ${round} of many\n`.repeat(400)), ...at(round) });
  }
  raw.add({ ...said.text("last", "Done."), ...at(rounds) });
  return raw.entries;
}

/** A folder with two sessions and two files that are none, and a cache of its own. */
async function replayWorld() {
  const world = await newWorld();
  mkdirSync(join(world.work, "all/deep"), { recursive: true });
  world.file("all/deep/long.jsonl", session(40));
  world.file("all/short.jsonl", session(5));
  world.file("all/notes.md", "Not a session.\n");
  world.file("all/empty.jsonl", "");
  const cache = join(world.work, "cache");
  const env = { XDG_CACHE_HOME: cache };
  // Its threads need a process with our export condition.
  const call = (...args: readonly string[]) => world.start({ env }, "replay", ...args);
  const callHere = (...args: readonly string[]) => world.callWith({ env }, "replay", ...args);
  const kept = (): readonly string[] =>
    readdirSync(join(cache, "palimpsest/replay")).map((name) => join(cache, "palimpsest/replay", name));
  return { ...world, call, callHere, kept } satisfies World & {
    callHere: World["call"];
    kept: () => readonly string[];
  };
}

describe("palimpsest replay", () => {
  it("replays the sessions of a folder and counts the files that hold none", async () => {
    const { call } = await replayWorld();
    const { code, out, err } = await call("all", "--policy", "never,mask");
    expect({ code, err }).toEqual({
      code: 0,
      err: expect.stringMatching(/^2 files replayed, 2 without a session, 0 failed\nskipped \(/) as string,
    });
    expect(out).toMatch(/^5m prices: 1 session, 41 rounds\nleft out with too few rounds: 1\n/);
    expect(out).toMatch(/^never +\d+\.\d\dM +0\.0 % /m);
    expect(out).toMatch(/^mask +\d+\.\d\dM /m);
  });

  it("with --json gives every file, policy and price table an object, short sessions too", async () => {
    const { call, work } = await replayWorld();
    const rows = json<readonly ReplayOutcome[]>(
      await call("all", "--policy", "never,mask", "--prices", "5m,1h", "--json"),
    );
    expect(
      rows.map(({ file, policy, prices }) => [file.replace(join(work, "all/"), ""), policy, prices].join()),
    ).toEqual(expect.arrayContaining(["deep/long.jsonl,never,5m", "deep/long.jsonl,mask,1h", "short.jsonl,never,1h"]));
    expect(rows).toHaveLength(8);
    expect(rows[0]).toMatchObject({ window: 200_000, refetch: "charged", cache: "marked" });
    for (const row of rows) {
      expect(row.cacheWrite1hTokens).toBe(row.prices === "1h" ? row.cacheWriteTokens : 0);
      expect(row).not.toHaveProperty("contextByRound");
      expect(row.cost).toBeGreaterThan(0);
    }
  });

  it("tells in --json under which window, charge and cache a file was replayed", async () => {
    const { call } = await replayWorld();
    const args = ["all/short.jsonl", "--policy", "never", "--refetch", "free", "--cache", "prefix", "--json"];
    const told = { refetch: "free", cache: "prefix" };
    expect(json(await call(...args, "--window", "100k"))).toMatchObject([{ ...told, window: 100_000 }]);
    expect(json(await call(...args, "--window", "none"))).toMatchObject([{ ...told, window: "none" }]);
  });

  it("makes compactions from what was said, where it is asked to, and says so", async () => {
    const { call, file } = await replayWorld();
    file("long.jsonl", session(80));
    const args = ["long.jsonl", "--policy", "never", "--window", "60k"];
    const [standIn] = json<readonly ReplayOutcome[]>(await call(...args, "--json"));
    const made = ["--compaction", "extract"] as const;
    const [extract] = json<readonly ReplayOutcome[]>(await call(...args, ...made, "--json"));
    expect([standIn?.compaction, extract?.compaction]).toEqual(["stand-in", "extract"]);
    expect(extract).toMatchObject({ refused: 0, optimumFull: null, optimumClearOnly: null });
    expect(extract?.compactions).toBeGreaterThan(0);
    expect(standIn?.outputTokens).toBe(3_000 * (standIn?.compactions ?? 0));
    expect(extract?.outputTokens).not.toBe(3_000 * (extract?.compactions ?? 0));
    expect((await call(...args, ...made)).out).toMatch(/^5m prices: .*\ncompaction extract: /);
    expect((await call(...args)).out).not.toContain("compaction extract");
  });

  it("counts every session where files are named, unless told otherwise", async () => {
    const { call } = await replayWorld();
    expect((await call("all/short.jsonl", "--policy", "never")).out).toMatch(/^5m prices: 1 session, 6 rounds\n\n/);
    const left = /^5m prices: 0 sessions, 0 rounds\nleft out with too few rounds: 1\n6 rounds of at least 30: /;
    expect((await call("all/short.jsonl", "--policy", "never", "--rounds-min", "30")).out).toMatch(left);
    expect((await call("all/short.jsonl", "all", "--policy", "never")).out).toMatch(/^5m prices: 1 session, 41 rounds/);
  });

  it("takes a session by its id, or the beginning of one", async () => {
    const { call, callWith, home } = await replayWorld();
    const imported = json<{ imported: readonly { session: string }[] }>(
      await callWith({}, "sessions", "import", "all/short.jsonl", "--json"),
    );
    const id = imported.imported[0]?.session ?? "";
    for (const name of [id, id.slice(0, 8)]) {
      const rows = json<readonly ReplayOutcome[]>(await call(name, "--policy", "never", "--json"));
      expect(rows).toMatchObject([{ rounds: 6, policy: "never" }]);
      expect(rows[0]?.file).toContain(id);
    }

    // One of the gateway's has the window that the gateway gave it.
    mkdirSync(join(home, "gateway"), { recursive: true });
    writeFileSync(
      join(home, "gateway", "conversations.jsonl"),
      `${JSON.stringify({ id, scope: "s", tools: "", user: "local", windowTokens: 30_000 })}\n`,
    );
    expect(json(await call(id, "--policy", "never", "--json"))).toMatchObject([{ window: 30_000 }]);
    expect(json(await call(id, "--policy", "never", "--window=100k", "--json"))).toMatchObject([{ window: 100_000 }]);
  });

  it("keeps what it did: a second run says the same and replays nothing, unless it is to begin afresh", async () => {
    const { call, kept } = await replayWorld();
    const first = await call("all", "--policy", "never");
    const written = kept().map((path) => statSync(path).ino);
    expect(written).toHaveLength(4);
    expect(kept().map((path) => statSync(path).mode & 0o777)).toEqual([0o600, 0o600, 0o600, 0o600]);
    expect(await call("all", "--policy", "never")).toEqual(first);
    expect(kept().map((path) => statSync(path).ino)).toEqual(written);
    expect(await call("all", "--policy", "never", "--fresh")).toEqual(first);
    expect(kept().map((path) => statSync(path).ino)).not.toEqual(written);
  });

  it("gives the same figures with one thread and with several", async () => {
    const { call } = await replayWorld();
    const one = await call("all", "--jobs", "1", "--policy", "never,mask", "--json");
    expect(await call("all", "--jobs", "3", "--policy", "never,mask", "--json", "--fresh")).toEqual(one);
  });

  it("writes a report, and a trace with every request from which a script of others comes to the same bill", async () => {
    const { call, work } = await replayWorld();
    const args = ["all/deep", "--policy", "mask", "--trace", "traces", "--html", "report.html", "--json"];
    const [row] = json<readonly ReplayOutcome[]>(await call(...args));
    const [trace = ""] = readdirSync(join(work, "traces"));
    expect(trace).toMatch(/^long\.jsonl\.[\da-f]{8}\.trace\.jsonl$/);
    const lines = readFileSync(join(work, "traces", trace), "utf8")
      .trimEnd()
      .split("\n");
    expect(lines).toHaveLength(row?.calls ?? 0);
    const checked = await runNode({ home: work }, checker, join(work, "traces", trace));
    expect(checked).toMatchObject({ code: 0, out: `${lines.length} requests, 0 billed differently\n` });
    expect(readFileSync(join(work, "report.html"), "utf8")).toContain("<polyline");
  });

  it.each<[readonly string[], number, RegExp]>([
    [[], 2, /<file\|folder\|session> is missing/],
    [["all", "--rounds-min", "-1"], 2, /--rounds-min -1 is no number/],
    [["all", "--policy", "nevr"], 2, /unknown policy nevr: did you mean never\?\n.*palimpsest/],
    [["all", "--prices", "2h"], 2, /unknown prices 2h/],
    [["all", "--jobs", "0"], 2, /--jobs 0/],
    [["not-there"], 3, /no file, folder or session not-there/],
    [["nothing"], 3, /no file below nothing/],
    [["all", "--html", "not-there/report.html"], 3, /no folder .*not-there for the report/],
    [["all", "--html", "."], 3, /is a folder, and the report is a file/],
    [["all", "--trace", "all/notes.md"], 3, /notes\.md can't be a folder for traces/],
    [["all", "--trace", "all/notes.md/traces"], 3, /traces can't be a folder for traces/],
  ])("refuses %j with exit code %i", async (args, code, message) => {
    const { callHere, work } = await replayWorld();
    mkdirSync(join(work, "nothing"));
    expectRefusal(await callHere(...args), code, message);
    expect(existsSync(join(work, "cache", "palimpsest", "replay"))).toBe(false);
  });

  it("when stopped ends with what is done, and goes on from there the next time", async () => {
    const { call, kept, work, home } = await replayWorld();
    const files = 40;
    mkdirSync(join(work, "many"));
    const text = session(40).map((entry) => `${JSON.stringify(entry)}\n`);
    for (let n = 0; n < files; n += 1) writeFileSync(join(work, "many", `${n}.jsonl`), text.join(""));
    const args = [launcher, "replay", "many", "--policy", "never,mask", "--jobs", "1", "--json"];
    const env = { ...process.env, PALIMPSEST_HOME: home, XDG_CACHE_HOME: join(work, "cache") };
    const child = spawn(process.execPath, args, { cwd: work, env });
    const out = textOf(child.stdout);
    const err = textOf(child.stderr);
    const ended = once(child, "exit");
    const begun = (): boolean => existsSync(join(work, "cache/palimpsest/replay")) && kept().length > 1;
    while (child.exitCode === null && !begun()) await wait(10);
    child.kill("SIGINT");
    expect(await ended).toEqual([1, null]);
    const done = (JSON.parse(await out) as readonly unknown[]).length / 2;
    expect(done).toBeLessThan(files);
    // One may be kept that came when it was no longer waited for.
    expect([done, done + 1]).toContain(kept().filter((path) => path.endsWith(".jsonl")).length);
    expect(await err).toContain(`stopped before ${files - done} of ${files} files: run it again to go on\n`);
    const before = new Map(kept().map((path) => [path, statSync(path).ino]));
    expect(json<readonly unknown[]>(await call("many", "--policy", "never,mask", "--json"))).toHaveLength(2 * files);
    for (const [path, inode] of before) expect(statSync(path).ino).toBe(inode);
  });

  it("where no file holds a session exits with 1 and prints an empty array", async () => {
    const { call, work } = await replayWorld();
    writeFileSync(join(work, "notes.txt"), "Nothing.\n");
    expect(await call("notes.txt", "--json")).toMatchObject({ code: 1, out: "[]\n" });
  });
});
