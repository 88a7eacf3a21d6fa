import { chmod, copyFile, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { createWriteStream } from "node:fs";
import { once } from "node:events";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { append, call, reply, result, text, user } from "../fixture/session.ts";
import { bound, boundCalling, whyUnbound } from "./support/bound-by-permissions.ts";
import { expectRefusal, json, newWorld, openTheWay, rawLog, said, type World } from "./support/cli-world.ts";
import { pathOf, sessionWith } from "./support/project.ts";

let world: World;
beforeAll(async () => {
  world = await newWorld();
});

interface ViewJson {
  readonly messages: { role: string; content: { type: string; text?: string }[] }[];
  readonly sendable: boolean;
  readonly why: string | null;
  readonly repairs: { kind: string; toolUse?: string; entry?: string }[];
  readonly path: {
    entries: number;
    onPath: number;
    problems: { kind: string; entry: string }[];
    thinkingLeftOut: number;
  };
  readonly damage: { kind: string; start: number; end: number }[];
}
const view = async (...args: readonly string[]): Promise<ViewJson> =>
  json<ViewJson>(await world.call("view", "--json", ...args));
const words = ({ messages }: ViewJson): string => JSON.stringify(messages);

describe("palimpsest view", () => {
  it("shows a session by its id, the beginning of it or its path, and the messages are those of the API", async () => {
    await sessionWith(world.deps, "view-me", async (session) => {
      await append(
        session,
        user("What is in a.txt?"),
        reply("m1", text("I look."), call("t1")),
        result("t1", "It says hello."),
      );
    });
    const [byId, byPrefix, byPath] = await Promise.all([
      view("view-me"),
      world.call("view", "view-m"),
      world.call("view", pathOf(world, "view-me")),
    ]);
    expect(byId).toMatchObject({
      sendable: true,
      why: null,
      repairs: [],
      damage: [],
      path: { entries: 3, onPath: 3, problems: [] },
    });
    expect(byId.messages).toEqual([
      { role: "user", content: [{ type: "text", text: "What is in a.txt?" }] },
      {
        role: "assistant",
        content: [
          { type: "text", text: "I look." },
          { type: "tool_use", id: "t1", name: "Read", input: { path: "t1" } },
        ],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: "It says hello." }] },
    ]);
    expect(byPrefix).toMatchObject({ code: 0, err: "" });
    expect(byPrefix.out).toBe(byPath.out);
    expect(byPrefix.out).toMatch(
      /── user\nWhat is in a\.txt\?\n── assistant\nI look\.\n\[call Read\][^]*It says hello\.[^]*\nsendable\n3 messages from 3 entries on the path/,
    );
  });

  it("--at an entry or a line shows what was then; a reply that goes on behind the point can't be sent", async () => {
    const raw = rawLog();
    const first = raw.add(said.user("First."));
    raw.add(said.call("m1", "t1"));
    const answered = raw.add(said.result("t1", "one"));
    raw.add(said.call("m1", "t2"));
    raw.add(said.result("t2", "two"));
    raw.add(said.text("m2", "Done."));
    raw.add(said.user("Second."));
    const file = world.file("at.jsonl", raw.entries);
    const [atFirst, atLine, middle, whole, ...bad] = await Promise.all([
      view(file, "--at", first),
      view(file, "--at", "1"),
      view(file, "--at", answered),
      view(file),
      ...["8", "no-such-uuid"].map((at) => world.call("view", file, "--at", at)),
    ]);
    expect(atFirst).toMatchObject({ sendable: true, path: { entries: 1 } });
    expect(atLine.messages).toEqual(atFirst.messages);
    expect(middle).toMatchObject({
      sendable: false,
      why: "the log holds more of reply m1 behind this point",
      path: { entries: 3 },
    });
    expect(words(middle)).toContain("one");
    expect(words(middle)).not.toContain("two");
    expect(whole).toMatchObject({ sendable: true });
    for (const one of bad) expectRefusal(one, 3, "there is no entry or line", "counted from 1");
  });

  it("says what it had to repair, and reads round cycles, missing parents and duplicates", async () => {
    const calls = rawLog();
    calls.add(said.user("Go."));
    calls.add(said.result("t_nobody", "orphan"));
    calls.add(said.call("m1", "t_open"));
    const broken = world.file("calls.jsonl", calls.entries);

    const links = rawLog();
    const a = links.add(said.user("one"));
    links.add({ ...said.text("m1", "two"), parentUuid: "not-in-the-log" });
    links.add(said.user("three"));
    const missing = world.file("missing.jsonl", links.entries);

    const twice = rawLog();
    const dup = twice.add(said.user("the first of its name"));
    twice.add({ ...said.text("m1", "an impostor"), uuid: dup });
    twice.add(said.user("more"));
    const duplicate = world.file("duplicate.jsonl", twice.entries);

    const round = rawLog();
    round.add({ ...said.user("chicken"), uuid: "c1", parentUuid: "c2" });
    round.add({ ...said.text("m", "egg"), uuid: "c2", parentUuid: "c1" });
    round.add({ ...said.user("still here"), parentUuid: "c2" });
    const cycle = world.file("cycle.jsonl", round.entries);

    const [repaired, found, counted, turned] = await Promise.all(
      [broken, missing, duplicate, cycle].map((file) => view(file)),
    );
    expect(repaired).toMatchObject({ sendable: false, why: "it waits for the result of Read t_open" });
    expect(repaired?.repairs).toMatchObject([
      { kind: "orphan-result", toolUse: "t_nobody" },
      { kind: "synthetic-result", toolUse: "t_open" },
    ]);
    expect(repaired === undefined ? "" : words(repaired)).not.toContain('"orphan"');
    expect(found?.path.problems).toMatchObject([{ kind: "missing-parent" }]);
    expect(found === undefined ? "" : words(found)).toMatch(/one.*two.*three/);
    expect(a).not.toBe("");
    expect(counted).toMatchObject({ sendable: true });
    expect(counted === undefined ? "" : words(counted)).toMatch(/the first of its name.*more/);
    expect(turned === undefined ? "" : words(turned)).toContain("still here");
    expect(turned).toMatchObject({ sendable: true });
  });

  it("reads a truncated file for what it is, and says of an empty one and of one that is no transcript that it is so", async () => {
    const raw = rawLog();
    raw.add(said.user("whole"));
    const whole = `${JSON.stringify(raw.entries[0])}\n`;
    const binary = Uint8Array.from({ length: 70_000 }, (_, at) => (at * 7919 + (at >> 3)) % 256);
    const [cut, cutText] = await Promise.all([
      view(world.file("cut.jsonl", `${whole}{"type":"user","uuid":"x","mess`)),
      world.call("view", world.file("cut2.jsonl", `${whole}{"type":"user","uuid":"x","mess`)),
    ]);
    const wrong = { empty: world.file("empty.jsonl", ""), binary: world.file("binary.jsonl", binary) };
    const notes = world.file("notes.json", '{\n  "sessions": [{ "text": "Hello." }]\n}\n');
    for (const command of [["view"], ["view", "--json"], ["context"], ["context", "--json"], ["sessions", "show"]]) {
      expectRefusal(await world.call(...command, wrong.empty), 1, "empty.jsonl is empty", "that has entries");
      for (const file of [wrong.binary, notes])
        expectRefusal(await world.call(...command, file), 1, "is not a transcript: no line of it is an entry", "fsck");
    }
    expect(cut).toMatchObject({
      sendable: true,
      damage: [{ kind: "torn", start: whole.length, end: whole.length + 31 }],
    });
    expect(cutText.out).toContain("whole");
    expect(cutText).toMatchObject({ code: 0, err: "1 damaged range: see `palimpsest sessions fsck`\n" });
  });

  it("passes over a line of 100 MB within 256 MB of memory, and so do fsck and expand", async () => {
    const path = join(world.work, "long-line.jsonl");
    const raw = rawLog();
    const first = raw.add(said.user("before it"));
    const last = raw.add({ ...said.user("behind it"), parentUuid: first });
    const out = createWriteStream(path);
    out.write(`${JSON.stringify(raw.entries[0])}\n{"type":"user","message":{"content":"`);
    for (let at = 0; at < 100; at += 1) if (!out.write("x".repeat(2 ** 20))) await once(out, "drain");
    out.end(`"}}\n${JSON.stringify(raw.entries[1])}\n`);
    await once(out, "finish");
    const commands = [
      ["view", path],
      ["sessions", "fsck", path],
      ["expand", path, last],
    ];
    const [viewed, checked, expanded] = await Promise.all(commands.map((args) => measured(args)));
    for (const one of [viewed, checked, expanded]) expect(one?.rssBytes).toBeLessThan(256 * 2 ** 20);
    expect(viewed?.out).toMatch(/before it\nbehind it\n[^]*sendable/);
    expect(viewed?.code).toBe(0);
    expect(checked?.out).toMatch(
      /2 entries in 100 MB\ndamage {2}too-long {2}bytes \d+–\d+ {2}a line of \d+ bytes; the limit is 67108864/,
    );
    expect(checked?.code).toBe(1);
    expect(expanded?.out).toBe(JSON.stringify(raw.entries[1]));
    await rm(path);
  }, 30_000);
});

/** Peak memory through a module that is loaded before the launcher and speaks up at the end. */
async function measured(args: readonly string[]): Promise<{ code: number | null; out: string; rssBytes: number }> {
  const speak = 'process.on("exit",()=>process._rawDebug("rss",process.resourceUsage().maxRSS*1024))';
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(speak)}` };
  const { code, out, err } = await world.start({ env }, ...args);
  return { code, out, rssBytes: Number(/rss (\d+)/.exec(err)?.[1]) };
}

describe("palimpsest view of a file in the home", () => {
  it("whose name can't be a session's is read all the same, and through a link it is the same session", async () => {
    await writeFile(
      join(world.folder, "my notes.jsonl"),
      `${JSON.stringify({ type: "user", uuid: "n", message: { role: "user", content: "noted" } })}\n`,
    );
    await sessionWith(world.deps, "linked", async (session) => void (await append(session, user("found"))));
    await symlink(pathOf(world, "linked"), join(world.work, "link.jsonl"));
    const [odd, linked] = await Promise.all([
      world.call("view", join(world.folder, "my notes.jsonl")),
      world.call("sessions", "show", join(world.work, "link.jsonl"), "--json"),
    ]);
    expect(odd).toMatchObject({ code: 0, err: "" });
    expect(odd.out).toContain("noted");
    expect(json(linked)).toMatchObject({ origin: "ours", path: pathOf(world, "linked") });
  });
});

describe("palimpsest view refuses in one line", () => {
  it("what is not there, is ambiguous, is a folder, or stands in the way of a session's file", async () => {
    await Promise.all(["twin-1", "twin-2"].map((id) => writeFile(pathOf(world, id), "")));
    await mkdir(pathOf(world, "a-folder"));
    const [missing, twins, folder, sessionFolder, noName, newlines] = await Promise.all([
      world.call("view", "no-such-session"),
      world.call("view", "twin"),
      world.call("view", world.work),
      world.call("view", "a-folder"),
      world.call("view"),
      world.call("view", "a\nb\u001B[2J"),
    ]);
    expectRefusal(missing, 3, "no session or file is called no-such-session", "sessions list --all");
    expectRefusal(twins, 2, "twin is the beginning of 2 sessions", "Write more of the id: twin-1, twin-2");
    expectRefusal(folder, 3, "is not a file", "`palimpsest sessions import` takes folders");
    expectRefusal(sessionFolder, 3, "a-folder.jsonl is not a file");
    expectRefusal(noName, 2, "<session|file> is missing", "palimpsest view --help");
    expectRefusal(newlines, 3);
    await Promise.all(["twin-1", "twin-2"].map((id) => rm(pathOf(world, id))));
    await rm(pathOf(world, "a-folder"), { recursive: true });
  });

  it.skipIf(bound.kind === "impossible")(`what may not be read, by path and by id${whyUnbound}`, async () => {
    const file = world.file("secret.jsonl", "");
    await copyFile(file, pathOf(world, "secret"));
    await openTheWay(world);
    await chmod(file, 0o000);
    await chmod(pathOf(world, "secret"), 0o000);
    const [byPath, byId] = await Promise.all([
      world.start(boundCalling, "view", file),
      world.start(boundCalling, "view", "secret"),
    ]);
    expectRefusal(byPath, 6, /Can't read .*secret\.jsonl \(not allowed: check its owner and permissions/);
    expectRefusal(byId, 6, /Can't read .*secret\.jsonl \(not allowed/);
    await rm(pathOf(world, "secret"));
  });
});
