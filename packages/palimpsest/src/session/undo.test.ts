import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  append,
  call,
  cleared,
  logBytes,
  openedForTest,
  reopened,
  reply,
  result,
  say,
  testDeps,
  text,
  user,
} from "../../../../test/fixture/session.ts";
import { entryId, tokens } from "../schema/brand.ts";
import { rewind, listRewindPoints, undo } from "./undo.ts";
import type { Session } from "./session.ts";

const view = (session: Session): string => JSON.stringify(session.view().messages);
const back = (session: Session) => undo(session, { mode: "path", blockingTokens: tokens(1_000_000), thinking: "free" });

describe("rewind", () => {
  it("goes on from before the message; what was said since stays in the log, and an undo leads back to it", async () => {
    const deps = testDeps();
    const session = await openedForTest(deps);
    await append(session, user("first"), reply("r1", text("answer one")));
    const before = view(session);
    const second = await say(session, user("第二个"));
    await append(session, reply("r2", call("c1")), result("c1", "found"), reply("r3", text("answer two")));
    const whole = view(session);
    const log = await logBytes(deps);
    expect(await rewind(session, second)).toMatchObject({ kind: "rewound", text: "第二个", left: 4 });
    expect(view(session)).toBe(before);
    expect((await logBytes(deps)).subarray(0, log.length)).toEqual(log);
    expect(await back(session)).toMatchObject({ kind: "branched" });
    expect(view(session)).toBe(whole);
  });

  it("is the same to whoever opens the session again", async () => {
    const deps = testDeps();
    const session = await openedForTest(deps);
    await append(session, user("first"), reply("r1", text("one")));
    const second = await say(session, user("second"));
    await append(session, reply("r2", text("two")));
    await rewind(session, second);
    const here = view(session);
    const again = await reopened(deps, session);
    expect(view(again)).toBe(here);
    await again.close();
  });

  it("takes settings along that were written behind the message: they are the session's", async () => {
    const session = await openedForTest(testDeps());
    const first = await say(session, user("first"));
    await append(session, reply("r1", text("one")), { type: "setting", name: "permissionMode", value: "plan" });
    await rewind(session, first);
    expect(session.fold.projection.settings.get("permissionMode")).toBe("plan");
    expect(session.view().messages).toEqual([]);
  });

  it("takes an edit back that was made behind the message, and leaves one that was made before it", async () => {
    const session = await openedForTest(testDeps());
    await append(session, user("a"), reply("r1", call("c1"), call("c2")), result("c1", "one"), result("c2", "two"));
    await append(session, cleared("c1"), reply("r2", text("read")));
    const message = await say(session, user("b"));
    await append(session, reply("r3", text("more")), cleared("c2"));
    await rewind(session, message);
    expect(view(session)).toContain("[cleared c1]");
    expect(view(session)).not.toContain("[cleared c2]");
  });

  it.each(["a reply", "a result", "an unknown id"])("refuses %s", async (what) => {
    const session = await openedForTest(testDeps());
    await append(session, user("first"));
    const [said, found] = await append(session, reply("r1", call("c1")), result("c1", "found"));
    const id = { "a reply": said, "a result": found }[what] ?? entryId("nobody");
    const before = view(session);
    expect(await rewind(session, id)).toEqual({ kind: "not-said" });
    expect(view(session)).toBe(before);
  });

  it("restores the view that was before any message of any conversation, and the undo restores the whole", async () => {
    const turn = fc.record({ said: fc.string({ minLength: 1 }).filter((one) => one.trim() !== ""), calls: fc.nat(2) });
    await fc.assert(
      fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 6 }), fc.nat(), async (turns, pick) => {
        const session = await openedForTest(testDeps());
        const moments: { readonly id: ReturnType<typeof entryId>; readonly before: string }[] = [];
        for (const [at, { said, calls }] of turns.entries()) {
          const before = view(session);
          moments.push({ id: await say(session, user(`#${said}`)), before });
          const ids = Array.from({ length: calls }, (_, nth) => `c${at}-${nth}`);
          if (ids.length > 0) await append(session, reply(`r${at}`, ...ids.map((id) => call(id))));
          for (const id of ids) await append(session, result(id, `of ${id}`));
          await append(session, reply(`s${at}`, text(`done ${at}`)));
        }
        const whole = view(session);
        expect(listRewindPoints(session).map(({ id }) => id)).toEqual(moments.map(({ id }) => id).toReversed());
        const chosen = moments[pick % moments.length];
        if (chosen === undefined) return;
        await rewind(session, chosen.id);
        expect(view(session)).toBe(chosen.before);
        await back(session);
        expect(view(session)).toBe(whole);
      }),
      { numRuns: 40 },
    );
  });
});

describe("undo by a branch", () => {
  it("keeps the settings of the session, such as which agents run and what is booked", async () => {
    const session = await openedForTest(testDeps());
    await append(session, user("first"), reply("r1", call("c1")), result("c1", "found"), cleared("c1"));
    await append(session, { type: "setting", name: "agents.running", value: [] }, user("second"));
    const undone = await undo(session, { mode: "branch", blockingTokens: tokens(1_000_000), thinking: "free" });
    expect(undone).toMatchObject({ kind: "branched" });
    expect(session.fold.projection.settings.get("agents.running")).toEqual([]);
  });
});
