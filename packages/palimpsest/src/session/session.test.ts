import { describe, expect, it } from "vitest";
import {
  append,
  call,
  offloaded,
  opened,
  openedForTest,
  reply,
  reopened,
  result,
  say,
  testDeps,
  user,
} from "../../../../test/fixture/session.ts";
import { appendBoundary } from "./append-boundary.ts";
import { lineBytesMax } from "../transcript/limits.ts";

describe("a session", () => {
  it("keeps the order of appends that nobody waited for", async () => {
    const session = await openedForTest(testDeps());
    await Promise.all([session.append(user("first")), session.append(user("second")), session.settle()]);
    expect(session.view().path).toMatchObject({ onPath: 2, aside: 0 });
    expect(session.view().messages).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "first" },
          { type: "text", text: "second" },
        ],
      },
    ]);
  });

  it("writes an edit for an end of the path only where the path still ends there when its turn comes", async () => {
    const session = await openedForTest(testDeps());
    const [entry] = await append(session, user("first"));
    const pin = { drafts: [{ type: "pin", entry }], cause: "asked", nature: "reduced" } as const;
    const before = session.leaf;
    const [, late] = await Promise.all([session.append(user("second")), session.editAt(before, pin)]);
    expect(late).toEqual({ kind: "moved" });
    expect(session.fold.projection.pins.size).toBe(0);
    expect(await session.editAt(session.leaf, pin)).toMatchObject({ kind: "edited" });
    expect(session.fold.projection.pins.size).toBe(1);
  });

  it("has the same entries after an edit as when it is opened again", async () => {
    const deps = testDeps();
    const session = await openedForTest(deps);
    await append(session, user("go"), reply("m", call("x")), result("x", "the whole text of the result"));
    const draft = { type: "clear", results: [{ toolUse: "x", shown: "cleared" }], tokensSaved: 5 };
    await session.edit({ drafts: [draft], cause: "asked", nature: "reduced" });
    const { entries } = session.fold.path;
    expect((await reopened(deps, session)).fold.path.entries).toEqual(entries);
  });

  it("lets go of what a boundary covers, and an undo of the boundary reads it back, with its receipt", async () => {
    const deps = testDeps({ tailBytes: 200 });
    const session = await openedForTest(deps);
    await append(session, user("first"), reply("m", { type: "text", text: "an answer" }), user("second"));
    const before = JSON.stringify(session.view().messages);
    const boundary = await appendBoundary(deps, session, { summary: "All of it.", trigger: "manual" });
    const compacted = JSON.stringify(session.view().messages);
    await session.shed();
    expect(session.read.from).toBe("boundary");
    expect(session.fold.path.entries).toHaveLength(2);
    expect(JSON.stringify(session.view().messages)).toBe(compacted);
    const [edit] = boundary.kind === "edited" ? boundary.entries : [];
    const undo = { drafts: [{ type: "undo", edit }], cause: "asked", nature: "undone" } as const;
    const undone = await session.edit(undo);
    expect(undone.kind === "edited" && undone.receipt.lines.filter((line) => line.class === "restored")).toHaveLength(
      3,
    );
    expect(JSON.stringify(session.view().messages)).toBe(before);
  });

  it("holds on to everything where its log can't be read", async () => {
    const deps = testDeps({ tailBytes: 200 });
    const { transcripts } = deps;
    let isGone = false;
    const session = await openedForTest({
      ...deps,
      transcripts: {
        create: (id) => transcripts.create(id),
        openForWriting: (id) => transcripts.openForWriting(id),
        adopt: (copy) => transcripts.adopt(copy),
        openForReading: (id) => (isGone ? Promise.reject(new Error("gone")) : transcripts.openForReading(id)),
      },
    });
    await append(session, user("first"), user("second"));
    await appendBoundary(deps, session, { summary: "All of it.", trigger: "manual" });
    isGone = true;
    await session.shed();
    expect(session.read.from).toBe("beginning");
    expect(session.fold.path.entries).toHaveLength(4);
  });

  it("refuses a line that no reader would take, and goes on", async () => {
    const session = await openedForTest(testDeps());
    const outcome = await session.append(user("x".repeat(lineBytesMax)));
    expect(outcome).toMatchObject({ kind: "failed", why: "too-large" });
    await append(session, user("small"));
    expect(session.view().messages).toHaveLength(1);
  });

  it("shows an undone offload in full at once, as it does after reopening", async () => {
    const deps = testDeps();
    const session = await openedForTest(deps);
    await append(session, user("go"), reply("m", call("x")));
    const [preview, offload] = await offloaded(deps, "x", "the whole text of the result");
    if (preview === undefined || offload === undefined) throw new Error("two drafts");
    await append(session, preview);
    const edit = await say(session, offload);
    await session.edit({ drafts: [{ type: "undo", edit }], cause: "asked", nature: "undone" });
    const live = JSON.stringify(session.view().messages);
    expect(live).toContain("the whole text of the result");
    const again = await reopened(deps, session);
    expect(JSON.stringify(again.view().messages)).toBe(live);
    await again.close();
  });

  it("carries deletions in the provider's cache until a boundary", async () => {
    const session = await openedForTest(testDeps());
    await append(session, user("go"), reply("m", call("x")), result("x", "out"));
    await append(session, { type: "server-edits", deleted: ["x"] });
    expect(session.view().withheld).toEqual(["x"]);
  });
});

describe("closing a session", () => {
  it("lets what runs along append a last time, however often it is closed", async () => {
    const deps = testDeps();
    const session = await openedForTest(deps);
    session.onClose(async (last) => void (await last.append(user("the last word"))));
    session.onClose(() => Promise.reject(new Error("does not keep it open")));
    await Promise.all([session.close(), session.close()]);
    const again = await openedForTest(deps, "resume");
    expect(again.view().path.onPath).toBe(1);
  });

  it("gives the session free whatever runs along does: throws, or closes it once more", async () => {
    const deps = testDeps();
    const session = await opened(deps);
    session.onClose(() => {
      throw new Error("before there was a promise");
    });
    session.onClose(async () => void session.close());
    await session.close();
    const again = await openedForTest(deps, "resume");
    expect(again.view().path.onPath).toBe(0);
  });

  it("ends at once what comes along after it, and survives what that throws", async () => {
    const session = await openedForTest(testDeps());
    await session.close();
    let ended = 0;
    session.onClose(async () => void (ended += 1));
    expect(ended).toBe(1);
    const fails = (): Promise<void> => {
      throw new Error("before there was a promise");
    };
    expect(() => session.onClose(fails)).not.toThrow();
  });

  it("ends nothing that has been taken back", async () => {
    const session = await openedForTest(testDeps());
    let ended = 0;
    const takeBack = session.onClose(async () => void (ended += 1));
    takeBack();
    await session.close();
    expect(ended).toBe(0);
  });

  it("waits for appends that nobody waited for", async () => {
    const deps = testDeps();
    const session = await openedForTest(deps);
    const appended = session.append(user("first"), user("second"));
    await session.close();
    expect(await appended).toMatchObject({ kind: "appended" });
    const again = await openedForTest(deps, "resume");
    expect(again.view().path.onPath).toBe(2);
  });

  it.each(["nothing", "something"])("takes no append from the moment it is asked to, with %s along", async (along) => {
    const deps = testDeps();
    const session = await openedForTest(deps);
    if (along === "something") session.onClose(async (last) => void (await last.append(user("the last word"))));
    const closed = session.close();
    const closing = /^the session test-session is closed$/;
    await expect(session.append(user("late"))).rejects.toThrow(closing);
    await expect(session.settle()).rejects.toThrow(closing);
    await expect(session.endTurn()).rejects.toThrow(closing);
    const late = { drafts: [user("late")], cause: "asked", nature: "reduced" } as const;
    await expect(session.edit(late)).rejects.toThrow(closing);
    await closed;
    await expect(session.append(user("later"))).rejects.toThrow(closing);
    const again = await openedForTest(deps, "resume");
    expect(JSON.stringify(again.view().messages)).not.toContain("late");
  });
});
