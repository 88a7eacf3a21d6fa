import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { appendBoundary } from "../../packages/palimpsest/src/session/append-boundary.ts";
import type { Session } from "../../packages/palimpsest/src/session/session.ts";
import type { EntryId } from "../../packages/palimpsest/src/schema/brand.ts";
import { append, call, cleared, reply, result, text, user } from "../fixture/session.ts";
import { expectRefusal, json, newWorld, rawLog, said, type World } from "./support/cli-world.ts";
import { openedSession } from "./support/project.ts";

let world: World;
beforeAll(async () => {
  world = await newWorld();
});

interface Undone {
  readonly session: string;
  readonly undone: string[];
  readonly said: string[];
  readonly receipts: { edits: string[]; tokensBefore: number; tokensAfter: number }[];
}

const viewed = async (name: string): Promise<string> =>
  JSON.stringify(json<{ messages: unknown }>(await world.call("view", name, "--json")).messages);
const shown = (session: Session): string => JSON.stringify(session.view().messages);

async function compact(session: Session, summary: string): Promise<EntryId> {
  const edited = await appendBoundary(world.deps, session, { summary, trigger: "manual" });
  if (edited.kind !== "edited") throw new Error(edited.message);
  const [boundary] = edited.entries;
  if (boundary === undefined) throw new Error("no boundary");
  return boundary;
}

describe("palimpsest undo", () => {
  it("takes back the newest edit, then the one before, then says that there is none; redo and already undone by name", async () => {
    const session = await openedSession(world.deps, "steps", "create");
    await append(session, user("Go."), reply("m1", call("t1")), result("t1", "the original"));
    const original = shown(session);
    const clear = await session.edit({ drafts: [cleared("t1")], cause: "asked", nature: "reduced" });
    const afterClear = shown(session);
    const boundary = await compact(session, "In short.");
    const afterCompaction = shown(session);
    await session.close();
    const clearId = clear.kind === "edited" ? (clear.entries[0] ?? "") : "";
    const logBefore = world.log("steps");

    const first = await world.call("undo", "steps");
    expect(first).toMatchObject({ code: 0, err: "" });
    expect(first.out).toMatch(
      new RegExp(
        `^undone: boundary ${boundary}\\n {2}entries +.*restored.*\\n {2}tokens +[\\d,]+ → [\\d,]+ \\(messages alone, estimated\\)\\n`,
      ),
    );
    expect(await viewed("steps")).toBe(afterClear);
    const second = json<Undone>(await world.call("undo", "steps", "--json"));
    expect(second).toMatchObject({ session: "steps", undone: [clearId], said: [] });
    expect(await viewed("steps")).toBe(original);
    const [nothing, again, show] = [
      await world.call("undo", "steps"),
      await world.call("undo", "steps", clearId),
      await world.call("sessions", "show", "steps"),
    ];
    const undoOfClear = second.receipts[0]?.edits[0] ?? "";
    const back = `to bring the clear back, undo ${undoOfClear}`;
    expectRefusal(nothing, 5, `nothing is left to undo; ${back}`, "palimpsest sessions show");
    expectRefusal(again, 5, `${clearId} is undone already; to bring it back, undo ${undoOfClear}`);
    expect(show.out).toMatch(new RegExp(`${clearId} +clear +.* +undone`));
    const { out } = await world.call("undo", "steps", undoOfClear);
    expect(out).toContain(`done again: clear ${clearId}`);
    expect(out).toMatch(/entries +\d+ kept, 1 stubbed\n/);
    expect(out).not.toMatch(/restored|undone/);
    expect(await viewed("steps")).toBe(afterClear);
    expect(afterCompaction).not.toBe(afterClear);
    expect(world.log("steps").subarray(0, logBefore.length).equals(logBefore)).toBe(true);
  });

  it("what brings several back is told as one, and in its order leads to the same view", async () => {
    const session = await openedSession(world.deps, "deep", "create");
    await append(session, user("one ".repeat(9000)));
    const inner = await compact(session, "first summary");
    await append(session, user("two"), reply("m", text("yes")));
    await compact(session, "second summary");
    await session.close();
    const before = await viewed("deep");
    const { out } = await world.call("undo", "deep", inner);
    expect(out).toMatch(
      /\nto go back, both of these, in this order:\n {2}palimpsest undo deep \S+\n {2}palimpsest undo deep \S+\n$/,
    );
    for (const [, undo = ""] of out.matchAll(/^ {2}palimpsest (undo .*)$/gm))
      expect((await world.call(...undo.split(" "))).code).toBe(0);
    expect(await viewed("deep")).toBe(before);
  });

  it("of a covered boundary takes the newer ones back first, says so, and keeps the turns since", async () => {
    const session = await openedSession(world.deps, "covered", "create");
    await append(session, user("one ".repeat(9000)));
    const inner = await compact(session, "first summary");
    await append(session, user("two ".repeat(90_000)), reply("m", text("yes")));
    const middle = await compact(session, "second summary");
    await append(session, user("three"));
    const outer = await compact(session, "third summary");
    await append(session, user("four"));
    await session.close();
    const undone = json<Undone>(await world.call("undo", "covered", inner, "--json"));
    expect(undone.undone).toEqual([outer, middle, inner]);
    expect(undone.said).toEqual([outer, middle].map((id) => `boundary ${id} covers it and is undone first`));
    const view = await viewed("covered");
    for (const words of ["one one", "two two", "three", "four"]) expect(view).toContain(words);
    expect(view).not.toContain("summary");
    expect((await world.call("sessions", "fsck", "covered")).code).toBe(0);
  });

  it("over the blocking limit is refused with the size and --branch as the way out; --branch goes on from before the edit", async () => {
    const session = await openedSession(world.deps, "huge", "create");
    await append(session, user("The beginning."));
    for (let round = 0; round < 4; round += 1)
      await append(session, reply(`m${round}`, text("word ".repeat(60_000))), user(`next ${round}`));
    const before = shown(session);
    const boundary = await compact(session, "All of it, in short.");
    await append(session, reply("late", text("a later turn")), user("and another"));
    await session.close();
    const logBefore = world.log("huge");
    const refused = await world.call("undo", "huge");
    expectRefusal(
      refused,
      5,
      /the view would be about (\d{3},\d{3}) tokens; no request over \d+,\d{3} can be sent\. Use --branch/,
    );
    expect(world.log("huge").equals(logBefore)).toBe(true);
    const branched = await world.call("undo", "huge", "--branch");
    expect(branched).toMatchObject({ code: 0, err: "" });
    expect(branched.out).toContain(
      `Session huge goes on from before boundary ${boundary}; the branch it left stays in the log`,
    );
    expect(await viewed("huge")).toBe(before);
    const log = world.log("huge");
    expect(log.subarray(0, logBefore.length).equals(logBefore)).toBe(true);
    const again = await openedSession(world.deps, "huge", "resume");
    expect(shown(again)).toBe(before);
    await again.close();
  });

  it("refuses what is no edit or is not there", async () => {
    const session = await openedSession(world.deps, "plain", "create");
    const [entry = ""] = await append(session, user("Just words."));
    await session.close();
    const before = world.log("plain");
    const missing = world.call("undo", "no-such-session");
    expectRefusal(await world.call("undo", "plain", entry), 5, `${entry} is not an edit`);
    expectRefusal(
      await world.call("undo", "plain", "no-such-edit", "--branch"),
      3,
      "no-such-edit is not on this session's path",
    );
    expectRefusal(await missing, 3, "no session or file is called no-such-session");
    expect(world.log("plain").equals(before)).toBe(true);
  });
});

describe("palimpsest undo of another tool's session", () => {
  it("works on a copy: the source stays as it is, the origin line has its length and hash, thinking is left out", async () => {
    const raw = rawLog();
    raw.add(said.user("Long ago."));
    raw.add(said.thinking("m1"));
    const last = raw.add(said.text("m1", "I see."));
    const boundary = raw.add(said.boundary(last));
    raw.add(said.summary("The summary of another tool."));
    raw.add(said.user("And now?"));
    const file = world.file("theirs.jsonl", raw.entries);
    const source = await readFile(file);
    const done = await world.call("undo", file, "--json");
    const { session, undone } = json<Undone>(done);
    expect(undone).toEqual([boundary]);
    expect(done.err).toBe(`${file} belongs to another tool; working on a copy: session ${session}\n`);
    expect((await readFile(file)).equals(source)).toBe(true);
    const view = json<{ messages: unknown; path: { thinkingLeftOut: number } }>(
      await world.call("view", session, "--json"),
    );
    expect(view.messages).toEqual([
      { role: "user", content: [{ type: "text", text: "Long ago." }] },
      { role: "assistant", content: [{ type: "text", text: "I see." }] },
      { role: "user", content: [{ type: "text", text: "And now?" }] },
    ]);
    expect(view.path.thinkingLeftOut).toBe(1);
    expect((await world.call("sessions", "list")).out).toMatch(
      new RegExp(`\\n${session.slice(0, 8)} .*Long ago\\.\\n`),
    );
    const where = json<{ path: string }>(await world.call("sessions", "show", session, "--json")).path;
    const copy = await readFile(where);
    const originEnd = copy.indexOf("\n") + 1;
    expect(JSON.parse(copy.subarray(0, originEnd).toString())).toMatchObject({
      type: "origin",
      path: file,
      length: source.length,
      sha256: createHash("sha256").update(source).digest("hex"),
    });
    expect(copy.subarray(originEnd, originEnd + source.length).equals(source)).toBe(true);
  });

  it("goes on with the copy that an earlier undo made: one more edit is taken back, and there is one session", async () => {
    const alone = await newWorld();
    const raw = rawLog();
    raw.add(said.user("The first question."));
    const older = raw.add(said.boundary(raw.add(said.text("m1", "The first answer."))));
    raw.add(said.summary("The first summary."));
    const newer = raw.add(said.boundary(raw.add(said.text("m2", "The second answer."))));
    raw.add(said.summary("The second summary."));
    const file = alone.file("theirs.jsonl", raw.entries);
    const [first, second] = [await alone.call("undo", file, "--json"), await alone.call("undo", file, "--json")];
    const { session, undone } = json<Undone>(first);
    expect(undone).toEqual([newer]);
    expect(json<Undone>(second)).toMatchObject({ session, undone: [older] });
    expect(second.err).toBe(`${file} belongs to another tool; working on its copy: session ${session}\n`);
    const listed = json<{ sessionId: string }[]>(await alone.call("sessions", "list", "--all", "--json"));
    expect(listed.map(({ sessionId }) => sessionId)).toEqual([session]);
    const view = (await alone.call("view", session, "--json")).out;
    for (const words of ["The first question.", "The first answer.", "The second answer."])
      expect(view).toContain(words);
    expect(view).not.toContain("summary.");
  });

  it("refuses to go on with a copy that is damaged where it says what it was made from", async () => {
    const alone = await newWorld();
    const raw = rawLog();
    raw.add(said.user("The question."));
    raw.add(said.boundary(raw.add(said.text("m1", "The answer."))));
    raw.add(said.summary("The summary."));
    const file = alone.file("theirs.jsonl", raw.entries);
    const { session } = json<Undone>(await alone.call("undo", file, "--json"));
    const { path } = json<{ path: string }>(await alone.call("sessions", "show", session, "--json"));
    const damaged = (await readFile(path)).fill(0, 0, 10);
    await writeFile(path, damaged);
    expectRefusal(await alone.call("undo", file), 5, `its copy, session ${session}, is damaged`, "moved away");
    expect((await readFile(path)).equals(damaged)).toBe(true);
  });

  it("makes no copy where there is nothing to take back or it would be refused", async () => {
    const alone = await newWorld();
    const plain = alone.file("plain.jsonl", [
      { type: "user", uuid: "u1", parentUuid: null, message: { role: "user", content: "hi" } },
    ]);
    const raw = rawLog();
    const last = raw.add(said.user("word ".repeat(300_000)));
    raw.add(said.boundary(last));
    raw.add(said.summary("short"));
    const huge = alone.file("huge.jsonl", raw.entries);
    const [nothing, unknown, tooLarge] = await Promise.all([
      alone.call("undo", plain),
      alone.call("undo", huge, "nobody"),
      alone.call("undo", huge),
    ]);
    expectRefusal(nothing, 5, "no edit is in force");
    expectRefusal(unknown, 3, "nobody is not on this session's path");
    expectRefusal(tooLarge, 5, /the view would be about [\d,]+ tokens.*--branch/);
    expect(await readdir(alone.folder)).toEqual([]);
    expect(await readdir(`${alone.home}/projects`)).toEqual(["p"]);
  });
});
