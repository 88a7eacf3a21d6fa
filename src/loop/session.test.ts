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

  it("carries deletions in the provider's cache until a boundary", async () => {
    const session = await openedForTest(testDeps());
    await append(session, user("go"), reply("m", call("x")), result("x", "out"));
    await append(session, { type: "server-edits", deleted: ["x"] });
    expect(session.view().serverDeleted).toEqual(["x"]);
  });
});
