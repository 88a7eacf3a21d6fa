import { appendFile, chmod, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { append, call, cleared, offloaded, reply, result, text, user } from "../fixture/session.ts";
import { runAppend } from "./child/run-append.ts";
import { bound, boundCalling, whyUnbound } from "./support/bound-by-permissions.ts";
import { expectRefusal, json, newWorld, openTheWay, rawLog, said, type World } from "./support/cli-world.ts";
import { openedSession, pathOf, sessionWith } from "./support/project.ts";

let world: World;
beforeAll(async () => {
  world = await newWorld();
});

describe("palimpsest sessions list", () => {
  it("lists the project's sessions newest first; --all those of every project; --json is the index's form", async () => {
    const here = await newWorld();
    const none = await Promise.all([here.call("sessions", "list"), here.call("sessions", "list", "--all")]);
    expect(none.map(({ code, out }) => [code, out])).toEqual([
      [0, "This project has no sessions yet; --all lists those of every project.\n"],
      [0, "There are no sessions yet.\n"],
    ]);
    await sessionWith(here.deps, "older", async (session) => void (await append(session, user("Fix the build"))));
    await sessionWith(here.deps, "newer", async (session) => {
      await append(session, user("Write\nthe docs"), reply("m", text("Done.")));
    });
    await writeFile(pathOf(here, "empty"), "");
    await writeFile(pathOf(here, "damaged"), "\0\0{]\n");
    await mkdir(pathOf(here, "a-folder"));
    const [listed, rows] = await Promise.all([
      here.call("sessions", "list", "--all"),
      here.call("sessions", "list", "--all", "--json"),
    ]);
    expect(listed).toMatchObject({ code: 0, err: "" });
    expect(listed.out).toMatch(/^session +modified +messages +size +project +title\n/);
    const project = basename(dirname(pathOf(here, "older")));
    expect(listed.out).toMatch(new RegExp(`^older .* 1 .* ${project} +Fix the build`, "m"));
    expect(listed.out).toMatch(/newer +\d{4}-\d\d-\d\d \d\d:\d\d +2 .*Write the docs/);
    expect(listed.out).toMatch(/older .* 1 .*Fix the build/);
    const found = json<{ sessionId: string; firstPrompt: string; messageCount: number; fullPath: string }[]>(rows);
    expect(found.map((row) => row.sessionId).toSorted()).toEqual(["damaged", "empty", "newer", "older"]);
    expect(found.find((row) => row.sessionId === "newer")).toMatchObject({
      firstPrompt: "Write\nthe docs",
      messageCount: 2,
      fullPath: pathOf(here, "newer"),
    });
    const place = (id: string): number => found.findIndex((row) => row.sessionId === id);
    expect(place("newer")).toBeLessThan(place("older"));
  });

  it.skipIf(process.platform === "win32")(
    "loses none where few files may be open at once (skipped where there is no ulimit)",
    async () => {
      const many = await newWorld();
      for (let project = 0; project < 24; project += 1) {
        const folder = join(many.home, "projects", `p${project}`);
        await mkdir(folder);
        for (let id = 0; id < 8; id += 1) await writeFile(join(folder, `s${project}-${id}.jsonl`), "");
      }
      const rows = json<unknown[]>(await many.start({ openFilesMax: 64 }, "sessions", "list", "--all", "--json"));
      expect(rows).toHaveLength(24 * 8);
    },
  );
});

describe("palimpsest sessions list of a long session", () => {
  it("counts its messages", async () => {
    const long = await newWorld();
    await sessionWith(long.deps, "long-one", async (session) => {
      for (let at = 0; at < 10; at += 1)
        await append(session, user(`${at} ${"word ".repeat(10_000)}`), reply(`m${at}`, text("Yes.")));
    });
    const { out } = await long.call("sessions", "list", "--all");
    expect(out).toMatch(/^long-one .* 20 /m);
  });

  it("counts a reply of several entries once, as show does", async () => {
    const { deps, call: run } = await newWorld();
    await sessionWith(deps, "replies", async (session) => {
      await append(session, user("Go."), reply("m1", text("First.")), reply("m1", call("t1"), call("t2")));
      await append(session, result("t1", "one"), result("t2", "two"), reply("m2", text("Done.")));
    });
    expect((await run("sessions", "list", "--all")).out).toMatch(/^replies .* 4 /m);
    const { out } = await run("sessions", "show", "replies");
    expect(out).toMatch(/^log +4 messages, /m);
    expect(out).toMatch(/^view +4 messages, /m);
    expect(out).toMatch(/^state +waits for the user$/m);
  });
});

describe("palimpsest sessions show", () => {
  it("tells size, view, state and every edit with whether it is in force", async () => {
    await sessionWith(world.deps, "shown", async (session) => {
      await append(session, user("Go."), reply("m1", call("t1")), result("t1", "long ago"));
      await session.edit({ drafts: [cleared("t1")], cause: "asked", nature: "reduced" });
    });
    const [shown, asText] = await Promise.all([
      world.call("sessions", "show", "shown", "--json"),
      world.call("sessions", "show", "shown"),
    ]);
    const { edits, ...figures } = json<{ edits: { id: string; kind: string; state: string }[] }>(shown);
    expect(edits).toMatchObject([{ kind: "clear", state: "in force" }]);
    expect(figures).toMatchObject({
      path: pathOf(world, "shown"),
      origin: "ours",
      sizeBytes: world.log("shown").length,
      messages: 3,
      sendable: true,
      why: null,
      damagedRanges: 0,
    });
    expect(asText.out).toContain(`${pathOf(world, "shown")}\n`);
    expect(asText.out).toMatch(/view +3 messages, about [\d,]+ tokens\nstate +sendable\ndamage +none seen\n/);
    expect(asText.out).toMatch(new RegExp(`${edits[0]?.id} +clear +.* +in force`));
  });

  it("names the setting that an entry changes, and counts one message as one", async () => {
    await sessionWith(world.deps, "set", async (session) => {
      await append(session, user("Go."), { type: "setting", name: "compaction.breaker", value: 1 });
    });
    const { out } = await world.call("sessions", "show", "set");
    expect(out).toMatch(/view +1 message, about/);
    expect(out).toMatch(/setting compaction\.breaker +.*in force/);
  });

  it("says of calls without a result what becomes of them when the session goes on", async () => {
    await sessionWith(world.deps, "interrupted", async (session) => {
      await append(session, user("Go."), reply("m1", call("t1")), user("And now?"));
    });
    const advice = /a\s+repair\s+entry\s+freezes\s+a\s+synthetic\s+error\s+result/;
    for (const command of [["sessions", "show"], ["view"]]) {
      const { out } = await world.call(...command, "interrupted");
      expect(out).toMatch(/waits for the result of Read t1\n/);
      expect(out).not.toContain("not sendable");
      expect(out).toMatch(advice);
      expect((await world.call(...command, "shown")).out).not.toMatch(advice);
    }
  });

  it("says of a client's call without a result that the client brings it", async () => {
    await sessionWith(world.deps, "waiting", async (session) => {
      await append(session, user("Go."), { type: "setting", name: "sync.items", value: [] });
      await append(session, reply("m1", call("t1"), call("t2")));
    });
    for (const command of [["sessions", "show"], ["view"]]) {
      const { out } = await world.call(...command, "waiting");
      expect(out).toMatch(/waits for the results of 2 calls: Read t1, Read t2\n/);
      expect(out).toMatch(/the client sends the result with its\s+next\s+request/);
      expect(out).not.toMatch(/not sendable|repair entry/);
    }
  });

  it("counts what a client's lists left in the log, and lists the edits beside it", async () => {
    await sessionWith(world.deps, "synced", async (session) => {
      await append(session, user("Go."), { type: "setting", name: "sync.items", value: [] });
      await append(
        session,
        { type: "setting", name: "sync.items", value: [] },
        { type: "setting", name: "x", value: 1 },
      );
    });
    const { out } = await world.call("sessions", "show", "synced");
    expect(out).toContain("lists     2 records of what the client's lists said (sync.items; see --json)\n");
    expect(out).toMatch(/setting x /);
    expect(out).not.toMatch(/setting sync\.items/);
  });

  it("fits the columns that COLUMNS says, with ids whole, and so do list and explain", async () => {
    const narrow = { env: { COLUMNS: "50" } };
    const [shown, listed, explained] = await Promise.all([
      world.callWith(narrow, "sessions", "show", "shown"),
      world.callWith(narrow, "sessions", "list", "--all"),
      world.callWith(narrow, "explain", "--model", "claude-opus-4-5-20251101", "--policy", "claude-code-2026-all"),
    ]);
    const { edits } = json<{ edits: { id: string }[] }>(await world.call("sessions", "show", "shown", "--json"));
    expect(shown.out).toContain(`\n  ${edits[0]?.id}\n`);
    for (const { out } of [shown, listed, explained]) {
      const lines = out.split("\n").filter((line) => !line.includes(world.home) && !line.includes("settings"));
      expect(lines.length).toBeGreaterThan(3);
      for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(50);
    }
  });

  it("tells of the file a session was made from what became of it: grown with how to import that, changed, gone", async () => {
    const raw = rawLog();
    raw.add(said.user("As it was."));
    const file = world.file("theirs.jsonl", raw.entries);
    const imported = async () =>
      json<{ imported: { session: string }[] }>(await world.call("sessions", "import", file, "--json")).imported;
    const [made] = await imported();
    const session = made?.session ?? "";
    const told = async (): Promise<[unknown, string | undefined]> => {
      const [asJson, asText] = await Promise.all([
        world.call("sessions", "show", session, "--json"),
        world.call("sessions", "show", session),
      ]);
      return [json<{ madeFrom: unknown }>(asJson).madeFrom, /^made from (.*)$/m.exec(asText.out)?.[1]];
    };
    expect(await told()).toEqual([{ path: file, state: "same" }, file]);
    const growth = `${JSON.stringify({ ...said.user("More."), uuid: "more", parentUuid: raw.entries.at(-1)?.uuid })}\n`;
    await appendFile(file, growth);
    expect(await told()).toEqual([
      { path: file, state: "grown", grownBytes: growth.length },
      `${file}, which has grown by ${growth.length} B since: palimpsest sessions import ${file}`,
    ]);
    const [again] = await imported();
    expect(again?.session).not.toBe(session);
    expect((await world.call("view", again?.session ?? "")).out).toContain("More.");
    expect(await told()).toEqual([
      { path: file, state: "grown", grownBytes: growth.length, goesOnIn: again?.session },
      `${file}, which has grown by ${growth.length} B since: session ${again?.session} goes on`,
    ]);
    await writeFile(file, (await readFile(file, "utf8")).replace("As it was.", "As it is now."));
    expect(await told()).toEqual([{ path: file, state: "changed" }, `${file}, which has changed since`]);
    await rm(file);
    expect(await told()).toEqual([{ path: file, state: "gone" }, `${file}, which is gone`]);
  });
});

describe("palimpsest sessions fsck", () => {
  interface Fsck {
    readonly entries: number;
    readonly damage: { kind: string; start: number; end: number }[];
    readonly notes: { kind: string }[];
    readonly repaired: { start: number; end: number; kept: string }[];
    readonly left: number;
  }

  async function damagedSession(id: string): Promise<Buffer> {
    const raw = rawLog();
    for (const letter of ["a", "b", "c"]) raw.add(said.user(`words of ${letter}`));
    const [a, b, c] = raw.entries.map((entry) => Buffer.from(`${JSON.stringify(entry)}\n`));
    if (a === undefined || b === undefined || c === undefined) throw new Error("three entries");
    const hurt = Buffer.from(b);
    hurt.set([0xff, 0xfe], hurt.indexOf("words"));
    const bytes = Buffer.concat([
      a,
      Buffer.alloc(20),
      Buffer.from("\n"),
      hurt,
      Buffer.from('{"half":"a li\n'),
      c,
      Buffer.from('{"type":"us'),
    ]);
    await writeFile(pathOf(world, id), bytes);
    return bytes;
  }

  it("finds damage by kind and byte range and changes nothing; a whole log is told as whole", async () => {
    const before = await damagedSession("hurt");
    await sessionWith(world.deps, "whole", async (session) => void (await append(session, user("All is well."))));
    const [found, asText, whole] = await Promise.all([
      world.call("sessions", "fsck", "hurt", "--json"),
      world.call("sessions", "fsck", "hurt"),
      world.call("sessions", "fsck", "whole"),
    ]);
    const { entries, damage, repaired } = json<Fsck>(found);
    expect(found.code).toBe(1);
    expect({ entries, kinds: damage.map(({ kind }) => kind), repaired }).toEqual({
      entries: 3,
      kinds: ["nul", "utf8", "json", "torn"],
      repaired: [],
    });
    for (const { kind, start, end } of damage) expect(asText.out).toContain(`damage  ${kind}  bytes ${start}–${end}  `);
    expect(asText.out).toContain("4 damaged ranges; --repair sets the damaged bytes aside");
    expect(asText.code).toBe(1);
    expect(whole).toMatchObject({ code: 0, err: "" });
    expect(whole.out).toMatch(/1 entries in \d+ B\nno damage\n$/);
    expect(world.log("hurt").equals(before)).toBe(true);
  });

  it("--repair sets the damaged bytes aside exactly, blanks them in place, and the next check is clean", async () => {
    const before = await damagedSession("mend");
    const { repaired, left, damage } = json<Fsck>(await world.call("sessions", "fsck", "mend", "--repair", "--json"));
    expect(left).toBe(0);
    expect(repaired.map(({ start, end }) => [start, end])).toEqual(damage.map(({ start, end }) => [start, end]));
    const after = world.log("mend");
    // The one byte more is the newline behind the torn last line.
    expect(after.length).toBe(before.length + 1);
    for (const { start, end, kept } of repaired) {
      expect((await readFile(kept)).equals(before.subarray(start, end))).toBe(true);
      expect(after.subarray(start, end).equals(Buffer.alloc(end - start, " "))).toBe(true);
      before.fill(" ", start, end);
    }
    expect(after.subarray(0, before.length).equals(before)).toBe(true);
    const [again, viewed] = await Promise.all([
      world.call("sessions", "fsck", "mend", "--repair"),
      world.call("view", "mend"),
    ]);
    expect(again.code).toBe(0);
    expect(again.out).toMatch(/3 entries in .*\nno damage\n$/);
    expect(viewed.out).toMatch(/words of a\n {2}rds of b\nwords of c/);
    expect(world.log("mend").equals(after)).toBe(true);
  });

  it("tells duplicates, cycles, missing parents, unanswered and orphaned calls, and --repair accepts what is readable as it is read", async () => {
    const raw = rawLog();
    raw.add({ ...said.user("chicken"), uuid: "c1", parentUuid: "c2" });
    raw.add({ ...said.text("m", "egg"), uuid: "c2", parentUuid: "c1" });
    raw.add({ ...said.user("again"), uuid: "c2" });
    raw.add({ ...said.user("from nowhere"), parentUuid: "gone" });
    raw.add(said.call("m1", "t_open"));
    raw.add(said.result("t_nobody", "orphan"));
    raw.add({ type: "clear", results: "nonsense" });
    await writeFile(pathOf(world, "odd"), raw.entries.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
    const before = world.log("odd");
    const found = json<Fsck>(await world.call("sessions", "fsck", "odd", "--repair", "--json"));
    expect(found.damage.map(({ kind }) => kind).toSorted()).toEqual([
      "duplicate-uuid",
      "malformed-edit",
      "parent-cycle",
    ]);
    expect(found.notes.map(({ kind }) => kind).toSorted()).toEqual([
      "missing-parent",
      "orphan-result",
      "unanswered-call",
    ]);
    expect(found).toMatchObject({ entries: 7, repaired: [], left: 0 });
    const after = world.log("odd");
    expect(after.subarray(0, before.length).equals(before)).toBe(true);
    const [again, checked] = await Promise.all([
      world.call("sessions", "fsck", "odd", "--repair"),
      world.call("sessions", "fsck", "odd"),
    ]);
    expect([again.code, checked.code]).toEqual([0, 0]);
    expect(checked.out).toMatch(/^accepted on \d{4}-\d\d-\d\d {2}parent-cycle {2}bytes \d/m);
    expect(checked.out).toMatch(/\nno damage but 3 ranges accepted as they are\n$/);
    expect(world.log("odd").equals(after)).toBe(true);
  });

  it("never writes another tool's file", async () => {
    const file = world.file("foreign.jsonl", '{"type":"user"}\n\0\0\0\n{"torn":');
    const before = await readFile(file);
    const [checked, refused] = await Promise.all([
      world.call("sessions", "fsck", file, "--json"),
      world.call("sessions", "fsck", file, "--repair"),
    ]);
    expect(json<Fsck>(checked).damage.map(({ kind }) => kind)).toEqual(["nul", "torn"]);
    expectRefusal({ ...refused, out: "" }, 5, "foreign.jsonl belongs to another tool: it is never written");
    expect(refused.out).toMatch(/damage {2}nul [^]*damage {2}torn [^]*2 damaged ranges left\n$/);
    const whole = world.file("whole.jsonl", [said.user("hi"), { type: "undo", uuid: "x", edit: 7 }]);
    const readable = await world.call("sessions", "fsck", whole, "--repair");
    expect(readable).toMatchObject({ code: 1, err: "" });
    expect(readable.out).toContain("1 damaged range left\n");
    expect((await readFile(file)).equals(before)).toBe(true);
    expect(await readdir(world.work)).toContain("foreign.jsonl");
  });
});

describe("what keeps a session from being written is told in one line, and nothing is written", () => {
  it("two writers: busy, with the holder named", async () => {
    await writeFile(pathOf(world, "held"), "\0\n");
    const child = runAppend({
      folder: world.folder,
      session: "held",
      name: "a",
      count: 0,
      afterwards: "hold",
      meanwhile: "be quiet",
    });
    expect(await child.next()).toMatchObject({ kind: "open" });
    const holder = new RegExp(`session held is in use by process ${child.process.pid} on this machine since \\d{4}-`);
    const [repair, undone, viewed] = await Promise.all([
      world.call("sessions", "fsck", "held", "--repair"),
      world.call("undo", "held"),
      world.call("view", "held"),
    ]);
    expectRefusal(repair, 4, holder, "wait until it has finished");
    expectRefusal(undone, 4, holder);
    expect(viewed.code).toBe(0);
    expect(world.log("held").toString()).toBe("\0\n");
  });

  it.skipIf(bound.kind === "impossible")(`a read-only home: reading goes on${whyUnbound}`, async () => {
    const locked = await newWorld();
    await sessionWith(locked.deps, "s", async (session) => {
      await append(session, user("Go."), reply("m1", call("t1")), result("t1", "x"), cleared("t1"));
    });
    const foreign = locked.file("foreign.jsonl", locked.log("s"));
    await openTheWay(locked);
    await chmod(pathOf(locked, "s"), 0o644);
    for (const folder of [locked.folder, locked.home, join(locked.home, "projects")]) await chmod(folder, 0o555);
    const run = (...args: string[]) => locked.start(boundCalling, ...args);
    const [undone, adopted, viewed] = await Promise.all([run("undo", "s"), run("undo", foreign), run("view", "s")]);
    for (const refused of [undone, adopted])
      expectRefusal(refused, 6, /Can't write .* \(not allowed: check its owner and permissions or set PALIMPSEST_HOME/);
    expect(viewed.out).toContain("[cleared t1]");
    for (const folder of [locked.home, join(locked.home, "projects"), locked.folder]) await chmod(folder, 0o755);
    expect((await readdir(locked.folder)).toSorted()).toEqual(["s.jsonl"]);
  });

  it.skipIf(process.platform === "win32")("a full disk (skipped where there is no ulimit)", async () => {
    await sessionWith(world.deps, "full", async (session) => {
      await append(session, user("x".repeat(2000)), reply("m1", call("t1")), result("t1", "y"), cleared("t1"));
    });
    const before = world.log("full");
    const fileBlocksMax = Math.floor(before.length / 512);
    const undone = await world.start({ fileBlocksMax }, "undo", "full");
    expectRefusal(
      undone,
      6,
      /Can't write .*full\.jsonl \(the file size limit is reached: raise it \(ulimit -f\)/,
      "What was written before stays",
    );
    expect(world.log("full").subarray(0, before.length).equals(before)).toBe(true);
    expect(await readdir(world.folder)).not.toContain("full.lock");
    expect((await world.call("undo", "full")).code).toBe(0);
  });
});

describe("palimpsest expand", () => {
  it("gives entries, results, offloaded results and blobs back byte for byte", async () => {
    const full = "the whole long output\n\u2028 ä ".repeat(500);
    const session = await openedSession(world.deps, "expand-me", "create");
    const [asked = ""] = await append(session, user("Show me."));
    await append(
      session,
      reply("m1", call("t1"), call("t2")),
      result("t1", "plain\nresult"),
      ...(await offloaded(world.deps, "t2", full)),
      cleared("t1"),
    );
    await session.close();
    const [blob = ""] = await world.deps.blobs.list();
    const ids = [asked, "t1", "t2", blob];
    const expanded = await Promise.all(ids.map((id) => world.call("expand", "expand-me", id)));
    const [line = ""] = world.log("expand-me").toString().split("\n");
    expect(expanded.map(({ code, out, err }) => [code, out, err])).toEqual(
      [line, "plain\nresult", full, full].map((out) => [0, out, ""]),
    );
    const refused = await Promise.all(["nobody", ""].map((id) => world.call("expand", "expand-me", id)));
    for (const one of refused) expectRefusal(one, 3, /nothing in .*expand-me\.jsonl has the id/);
    await writeFile(pathOf(world, "unanswered"), `${JSON.stringify({ ...said.call("m1", "t_open"), uuid: "a" })}\n`);
    expectRefusal(await world.call("expand", "unanswered", "t_open"), 3, "the call t_open has no result");
    await rm(join(world.folder, "blobs", blob));
    expectRefusal(
      await world.call("expand", "expand-me", "t2"),
      3,
      `the blob ${blob} that holds it is gone or damaged`,
      "from a backup",
    );
  });
});
