import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeAll, describe, expect, it } from "vitest";
import { openWorkspace } from "../../packages/cli/src/host/workspace.ts";
import { append, call, reply, result, text, user } from "../fixture/session.ts";
import { expectRefusal, json, newWorld, type World } from "./support/cli-world.ts";
import { openedSession } from "./support/project.ts";
import { storedText } from "./support/stored-index.ts";

let world: World;
let home: string;
let foreign: readonly string[];

const lines = (...entries: readonly object[]): string => entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");

async function write(path: string, content: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
}

/** A Claude Code log: the ecosystem's own format. */
const claudeLog = (cwd: string, said: string): string =>
  lines({
    type: "user",
    uuid: "cu1",
    parentUuid: null,
    sessionId: "c",
    cwd,
    timestamp: "2026-02-01T00:00:00.000Z",
    message: { role: "user", content: said },
  });

const codexLog = (cwd: string, said: string): string =>
  lines(
    { timestamp: "2026-02-02T00:00:00.000Z", type: "session_meta", payload: { id: "x1", cwd } },
    {
      timestamp: "2026-02-02T00:00:01.000Z",
      type: "response_item",
      payload: { type: "message", role: "user", content: [{ type: "input_text", text: said }] },
    },
  );

const piLog = (cwd: string, said: string): string =>
  lines(
    { type: "session", id: "p1", timestamp: "2026-02-03T00:00:00.000Z", cwd },
    {
      type: "message",
      timestamp: "2026-02-03T00:00:01.000Z",
      message: { role: "user", content: [{ type: "text", text: said }] },
    },
  );

async function writeOpencode(folder: string, directory: string): Promise<void> {
  const storage = join(folder, "storage");
  const info = {
    id: "ses_1",
    projectID: "p",
    directory,
    title: "An opencode session",
    time: { created: 1, updated: 2 },
  };
  await write(join(storage, "session", "p", "ses_1.json"), JSON.stringify(info));
  const message = { id: "msg_1", sessionID: "ses_1", role: "user", time: { created: 1_770_000_000_000 } };
  await write(join(storage, "message", "ses_1", "msg_1.json"), JSON.stringify(message));
  const part = {
    id: "prt_1",
    messageID: "msg_1",
    sessionID: "ses_1",
    type: "text",
    text: "the zebra of opencode's folder",
  };
  await write(join(storage, "part", "msg_1", "prt_1.json"), JSON.stringify(part));
  const database = new DatabaseSync(join(folder, "opencode.db"));
  database.exec(`pragma journal_mode = wal;
    create table session (id text, project_id text, directory text, title text, time_created integer, time_updated integer);
    create table message (id text, session_id text, time_created integer, data text);
    create table part (id text, message_id text, session_id text, data text)`);
  database.prepare("insert into session values ('ses_2', 'p', ?, 'In the database', 1, 2)").run(directory);
  database
    .prepare("insert into message values ('msg_2', 'ses_2', 1, ?)")
    .run(JSON.stringify({ role: "user", time: { created: 1_770_000_000_000 } }));
  database
    .prepare("insert into part values ('prt_2', 'msg_2', 'ses_2', ?)")
    .run(JSON.stringify({ type: "text", text: "the zebra of opencode's database" }));
  database.close();
}

beforeAll(async () => {
  world = await newWorld();
  home = join(world.home, "..", "user-home");
  const workspace = openWorkspace({ env: { PALIMPSEST_HOME: world.home, HOME: home }, cwd: world.work });
  const project = await workspace.project();
  if (project.kind === "failed") throw new Error(project.message);
  for (const name of ["zoo", "park"]) {
    const session = await openedSession(project.deps, name, "create");
    await append(session, user(`The zebra of the ${name}.`), reply("m1", call(`${name}-t1`)));
    await append(session, result(`${name}-t1`, `a long quagga of the ${name}`), reply("m2", text("Seen.")));
    await session.close();
  }
  const slug = world.work.replaceAll(/[^A-Za-z0-9]/g, "-");
  const other = "/somewhere/else";
  await write(join(home, ".claude", "projects", slug, "c1.jsonl"), claudeLog(world.work, "the zebra of Claude Code"));
  await write(join(home, ".claude", "projects", `${slug}-other`, "c2.jsonl"), claudeLog(other, "a stranger's zebra"));
  await write(
    join(home, ".codex", "sessions", "2026", "02", "02", "rollout-x1.jsonl"),
    codexLog(world.work, "the zebra of Codex"),
  );
  await write(
    join(home, ".codex", "sessions", "2026", "02", "02", "rollout-x2.jsonl"),
    codexLog(other, "a stranger's zebra"),
  );
  const piFolder = `--${world.work.slice(1).replaceAll("/", "-")}--`;
  await write(join(home, ".pi", "agent", "sessions", piFolder, "p1.jsonl"), piLog(world.work, "the zebra of pi"));
  await writeOpencode(join(home, ".local", "share", "opencode"), world.work);
  foreign = await everyFile(home);
});

const everyFile = async (folder: string): Promise<readonly string[]> => {
  const names = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Promise.all(files.toSorted().map(async (path) => `${path} ${(await readFile(path)).toString("base64")}`));
};

interface Found {
  readonly total: number;
  readonly hits: readonly {
    readonly id: string;
    readonly snippet: string;
    readonly session: { id: string; source: string; title?: string };
  }[];
}
const all = (...args: readonly string[]) => world.callWith({ env: { HOME: home } }, "recall", "--all", ...args);
const found = async (...args: readonly string[]): Promise<Found> => json<Found>(await all(...args, "--json"));

describe("palimpsest recall --all", () => {
  it("finds what was said in every session of the project, by our agent and by others, and by no one else", async () => {
    const { hits } = await found("zebra");
    expect(hits.map(({ session, snippet }) => `${session.source}: ${snippet}`).toSorted()).toEqual([
      "claude-code: the zebra of Claude Code",
      "codex: the zebra of Codex",
      "opencode: the zebra of opencode's database",
      "opencode: the zebra of opencode's folder",
      "pi: the zebra of pi",
      "session: The zebra of the park.",
      "session: The zebra of the zoo.",
    ]);
  });

  it("writes nothing where other agents keep their sessions", async () => {
    await found("zebra");
    expect(await everyFile(home)).toEqual(foreign);
  });

  it("a hit's id gives the original back, wherever it lies", async () => {
    const [hit] = (await found("quagga", "zoo")).hits;
    expect((await all(`${hit?.session.id}/${hit?.id}`)).out).toBe("a long quagga of the zoo");
    const [codex] = (await found("zebra", "--source", "codex")).hits;
    expect((await all(`${codex?.session.id}/${codex?.id}`)).out).toBe("the zebra of Codex");
  });

  it("filters by session, source, kind and time, and says which filter it does not understand", async () => {
    expect((await found("zebra", "--session", "park")).hits).toMatchObject([{ session: { id: "park" } }]);
    expect((await found("quagga", "--kind", "result")).total).toBe(2);
    expect((await found("zebra", "--source", "pi", "--after", "2026-02-03")).total).toBe(1);
    expect((await all("zebra", "--source", "pi", "--before", "2026-02-03")).code).toBe(1);
    expectRefusal(await all("zebra", "--kind", "poem"), 2, "--kind poem is no kind");
    expectRefusal(await all("zebra", "--after", "soon"), 2, "--after soon is no time");
    expectRefusal(await world.call("recall", "zoo", "zebra", "--tool", "Read"), 2, "--tool works with --all");
  });

  it("lists the newest that pass the filters if there are no words", async () => {
    const { hits } = await found("--source", "session", "--kind", "result");
    expect(hits.map(({ session, id }) => `${session.id}/${id}`)).toEqual(["park/park-t1", "zoo/zoo-t1"]);
    expect((await found("--tool", "read", "--session", "zoo")).hits).toMatchObject([{ id: "zoo-t1" }, {}]);
    expect((await all("--after", "2999-01-01")).code).toBe(1);
    expectRefusal(await all(), 2, "the query is empty");
    expectRefusal(await world.call("recall", "--tool", "read"), 2, "--tool works with --all");
    expectRefusal(await world.call("recall"), 2, "<session|file> is missing");
  });

  it("names a memory once, and the name gives it back", async () => {
    const workspace = openWorkspace({ env: { PALIMPSEST_HOME: world.home, HOME: home }, cwd: world.work });
    const project = await workspace.project();
    if (project.kind === "failed") throw new Error(project.message);
    for (const name of ["echidna.md", "animals/2026/echidna.md"])
      await write(join(project.folder, "memory", name), `The echidnaword in ${name}.\n`);
    const { out } = await all("echidnaword");
    for (const name of ["echidna.md", "animals/2026/echidna.md"]) {
      expect(out.split("\n").filter((line) => line.startsWith(`${name}  memory`))).toHaveLength(1);
      expect((await all(name)).out).toBe(`The echidnaword in ${name}.\n`);
    }
    await rm(join(project.folder, "memory"), { recursive: true });
  });

  it("finds no forgotten memory and no deleted session, and keeps none of their words", async () => {
    const project = await openWorkspace({
      env: { PALIMPSEST_HOME: world.home, HOME: home },
      cwd: world.work,
    }).project();
    if (project.kind === "failed") throw new Error(project.message);
    const session = await openedSession(project.deps, "leaves", "create");
    await append(session, user("The wombatword leaves."));
    await session.close();
    await write(join(project.folder, "memory", "goes.md"), "The numbatword goes.\n");
    expect((await found("wombatword", "numbatword")).total).toBe(2);
    expect(await world.call("memory", "forget", "goes", "--yes")).toMatchObject({ code: 0 });
    expect(await storedText(project.folder)).not.toContain("numbatword");
    expect(await world.call("sessions", "delete", "leaves", "--yes")).toMatchObject({ code: 0 });
    expect(await storedText(project.folder)).not.toContain("wombatword");
    expect((await all("wombatword", "numbatword")).code).toBe(1);
    expect((await found("zebra")).total).toBe(7);
  });

  it("shows each hit with its session, for the user", async () => {
    const { out } = await all("quagga", "--session", "zoo");
    expect(out).toContain("zoo/zoo-t1  result");
    expect(out).toContain("  a long quagga of the zoo\n");
    expect(out).toContain(
      "\n    before, user: The zebra of the zoo.\n    after, reply: Seen.\n  in The zebra of the zoo.\n",
    );
  });
});
