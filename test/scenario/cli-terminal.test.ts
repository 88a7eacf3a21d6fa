import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { append, call, cleared, reply, result, user } from "../fixture/session.ts";
import { expectRefusal, json, newWorld, type World } from "./support/cli-world.ts";
import { pathOf, sessionWith } from "./support/project.ts";

let world: World;
beforeAll(async () => {
  world = await newWorld();
});

/** A cursor move, a window title, an 8-bit control, a colour, a change of direction, a line of its own. */
const hostile = (name: string): string =>
  `${name}\u001B[2J\u001B]0;title\u0007\u009B1m\u001B[31m\u202E\u2066\u200B\r\nno damage`;

function hostileLog(): readonly object[] {
  const at = { timestamp: "1 Jan 2026 (\u001B[2J\u202E)", cwd: hostile("/cwd"), gitBranch: hostile("branch") };
  const message = (type: string, content: object[]): object => ({ role: type, id: hostile("msg"), content });
  const entry = (type: string, name: string, content: object[]): object => ({
    type,
    ...at,
    uuid: hostile(name),
    parentUuid: hostile("parent"),
    message: message(type, content),
  });
  return [
    { type: "custom-title", customTitle: hostile("title") },
    entry("user", "u1", [{ type: "text", text: hostile("words") }]),
    entry("assistant", "a1", [
      { type: "thinking", thinking: hostile("thought"), signature: "s" },
      { type: hostile("block") },
      { type: "tool_use", id: hostile("t1"), name: hostile("Tool"), input: { [hostile("key")]: hostile("value") } },
      { type: "tool_use", id: hostile("t2"), name: hostile("Tool"), input: {} },
    ]),
    entry("user", "u2", [
      { type: "tool_result", tool_use_id: hostile("t1"), content: hostile("result") },
      { type: "tool_result", tool_use_id: hostile("nobody"), content: [{ type: hostile("part") }] },
    ]),
    entry("user", "u2", [{ type: "text", text: "twice" }]),
    { type: "clear", ...at, uuid: hostile("e1"), parentUuid: hostile("u2"), results: "nonsense" },
    {
      type: "clear",
      ...at,
      uuid: hostile("e2"),
      parentUuid: hostile("u2"),
      results: [{ toolUse: hostile("t1"), shown: hostile("cleared") }],
      attachments: [],
      cause: hostile("cause"),
    },
  ];
}

const ours = new RegExp(String.raw`\u001B\[(1|2|22|31|32|33|36|39)m`, "g");
const drives = /[^\P{Cc}\n\t]|\p{Cf}/u;

describe("what a log holds can't drive the terminal", () => {
  it("whichever field it stands in and whichever command prints it", async () => {
    const lines = hostileLog().map((line) => `${JSON.stringify(line)}\n`);
    await writeFile(pathOf(world, "hostile"), lines.join(""));
    const name = "f\u001B[2J\u202E.jsonl";
    const file = world.file(name, hostileLog());
    const calls = [
      ["view", "hostile"],
      ["view", "hostile", "--full"],
      ["view", file, "--at", hostile("nobody")],
      ["view", hostile("nobody")],
      ["sessions", "list", "--all"],
      ["sessions", "show", "hostile"],
      ["sessions", "show", file],
      ["sessions", "fsck", "hostile"],
      ["sessions", "fsck", file, "--repair"],
      ["expand", "hostile", hostile("missing")],
      ["undo", "hostile", hostile("nobody")],
      ["undo", "hostile", hostile("u1"), "--debug"],
      ["undo", file],
      ["undo", "hostile"],
    ];
    for (const args of calls) {
      for (const env of [{ FORCE_COLOR: "1" }, { NO_COLOR: "1", FORCE_COLOR: "" }]) {
        const { out, err } = await world.callWith({ env }, ...args);
        const printed = out + err;
        expect(printed, args.join(" ")).not.toBe("");
        const shown = "NO_COLOR" in env ? printed : printed.replaceAll(ours, "");
        expect(drives.exec(shown), `${args.join(" ")}: ${JSON.stringify(shown)}`).toBeNull();
      }
    }
  });

  it("and a name can't pass for a line of ours", async () => {
    const lines = hostileLog().map((line) => `${JSON.stringify(line)}\n`);
    await writeFile(pathOf(world, "lines"), lines.join(""));
    for (const command of ["fsck", "show"]) {
      const { out } = await world.call("sessions", command, "lines");
      expect(out.split("\n")).not.toContain("no damage");
    }
  });
});

describe("a link under our home", () => {
  it("to another tool's file is no session; by its path it is that tool's file", async () => {
    await sessionWith(world.deps, "target", async (session) => {
      await append(session, user("Go."), reply("m1", call("t1")), result("t1", "x"), cleared("t1"));
    });
    const theirs = world.file("theirs.jsonl", world.log("target"));
    const before = await readFile(theirs);
    await symlink(theirs, pathOf(world, "link-to"));
    const undone = await world.call("undo", "link-to");
    expectRefusal(undone, 3, "no session or file is called link-to");
    const listed = json<{ sessionId: string }[]>(await world.call("sessions", "list", "--all", "--json"));
    expect(listed.map((row) => row.sessionId)).not.toContain("link-to");
    const byPath = await world.call("undo", pathOf(world, "link-to"), "--json");
    expect(byPath.err).toBe(
      `${theirs} belongs to another tool; working on a copy: session ${json<{ session: string }>(byPath).session}\n`,
    );
    expect((await readFile(theirs)).equals(before)).toBe(true);
  });
});

describe("a folder that is called like a session", () => {
  it("does not hide it", async () => {
    await sessionWith(world.deps, "abc123", async (session) => void (await append(session, user("I am here."))));
    await mkdir(join(world.work, "abc123"));
    await mkdir(join(world.work, "only-a-folder"));
    const [viewed, folder] = await Promise.all([world.call("view", "abc123"), world.call("view", "only-a-folder")]);
    expect(viewed).toMatchObject({ code: 0, err: "" });
    expect(viewed.out).toContain("I am here.");
    expectRefusal(folder, 3, "only-a-folder is not a file");
  });
});

describe("an undo that the disk did not take", () => {
  it("is not told as done", async () => {
    await sessionWith(world.deps, "unsynced", async (session) => {
      await append(session, user("Go."), reply("m1", call("t1")), result("t1", "x"), cleared("t1"));
    });
    const failingSync = `
      import { open } from "node:fs/promises";
      const file = await open(process.execPath);
      Object.getPrototypeOf(file).datasync = async () => { throw Object.assign(new Error("EIO"), { code: "EIO" }); };
      await file.close();`;
    const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(failingSync)}` };
    const undone = await world.start({ env }, "undo", "unsynced");
    expectRefusal(undone, 6, /Can't write .*unsynced\.jsonl \(the disk reported an error.*may not be on disk/);
  });
});
