import { describe, expect, it } from "vitest";
import {
  append,
  call,
  offloaded,
  openedForTest,
  reply,
  reopened,
  result,
  say,
  testDeps,
  user,
} from "../../test/fixture/session.ts";
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

  it("lets what runs along append a last time before it closes, however often it is closed", async () => {
    const deps = testDeps();
    const session = await openedForTest(deps);
    session.onClose(async () => {
      await append(session, user("the last word"));
    });
    session.onClose(() => Promise.reject(new Error("does not keep it open")));
    await Promise.all([session.close(), session.close()]);
    const again = await openedForTest(deps, "resume");
    expect(again.view().path.onPath).toBe(1);
  });

  it("ends at once what comes along after it has closed", async () => {
    const session = await openedForTest(testDeps());
    await session.close();
    let ended = 0;
    session.onClose(async () => void (ended += 1));
    expect(ended).toBe(1);
  });

  it("carries deletions in the provider's cache until a boundary", async () => {
    const session = await openedForTest(testDeps());
    await append(session, user("go"), reply("m", call("x")), result("x", "out"));
    await append(session, { type: "server-edits", deleted: ["x"] });
    expect(session.view().serverDeleted).toEqual(["x"]);
  });
});
