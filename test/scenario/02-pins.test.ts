import { describe, expect, it } from "vitest";
import { ForkLine } from "../../packages/palimpsest/src/context/fork-line.ts";
import { appendBoundary } from "../../packages/palimpsest/src/session/append-boundary.ts";
import type { Session, SessionDeps } from "../../packages/palimpsest/src/session/session.ts";
import { undo } from "../../packages/palimpsest/src/session/undo.ts";
import { type EntryId, tokens } from "../../packages/palimpsest/src/schema/brand.ts";
import type { Draft } from "../../packages/palimpsest/src/transcript/draft.ts";
import { append, call, openedForTest, opened, reply, result, say, testDeps, text, user } from "../fixture/session.ts";

const codeword = "CODEWORD-PINNED 中 \u2028 \r\n end";
const found = "CODEWORD-RESULT";

interface Pinned {
  readonly deps: SessionDeps;
  readonly session: Session;
  readonly message: EntryId;
  readonly answer: EntryId;
}

/** A message and a result are pinned; of the result's call nobody spoke. */
async function pinned(): Promise<Pinned> {
  const deps = testDeps();
  const session = await openedForTest(deps);
  await append(session, user("Go."));
  const message = await say(session, user(codeword));
  await append(session, reply("m1", call("t1"), call("t2")));
  const answer = await say(session, result("t1", found));
  await append(session, result("t2", "beside it"), reply("m2", text("Done.")), user("Go on."));
  for (const entry of [message, answer])
    await session.edit({ drafts: [{ type: "pin", entry }], cause: "asked", nature: "reduced" });
  return { deps, session, message, answer };
}

const times = (session: Session, words: string): number =>
  JSON.stringify(session.view().messages).split(JSON.stringify(words).slice(1, -1)).length - 1;

function expectBoth(session: Session): void {
  expect(times(session, codeword)).toBe(1);
  expect(times(session, found)).toBe(1);
  expect(session.view().sendable).toBe(true);
}

async function compact({ deps, session }: Pick<Pinned, "deps" | "session">): Promise<void> {
  const edited = await appendBoundary(deps, session, { summary: "ok", trigger: "auto" });
  expect(edited.kind).toBe("edited");
}

describe("2. Instructions survive: pinned messages", () => {
  it.each([1, 2, 20])("after %i compactions each is there byte for byte, exactly once", async (rounds) => {
    const { deps, session } = await pinned();
    for (let round = 1; round <= rounds; round += 1) {
      await append(session, user(`more ${round}`), reply(`n${round}`, text("yes")));
      await compact({ deps, session });
      expectBoth(session);
    }
  });

  it("after a resume and a compaction", async () => {
    const { deps, session } = await pinned();
    await compact({ deps, session });
    await session.close();
    const again = await opened(deps, "resume");
    await append(again, user("more"), reply("n", text("yes")));
    await compact({ deps, session: again });
    expectBoth(again);
    await again.close();
  });

  it("after an undo and a redo", async () => {
    const { deps, session } = await pinned();
    await compact({ deps, session });
    const options = { mode: "path", blockingTokens: tokens(1e9), thinking: "free" } as const;
    const undone = await undo(session, options);
    expectBoth(session);
    const [target] = undone.kind === "undone" ? undone.undos : [];
    await undo(session, { ...options, ...(target === undefined ? {} : { target }) });
    expect(times(session, "ok")).toBeGreaterThan(0);
    expectBoth(session);
  });

  it("a partial compaction that covers them", async () => {
    const { deps, session, message } = await pinned();
    const edited = await appendBoundary(deps, session, { summary: "ok", trigger: "manual", from: message });
    expect(edited.kind).toBe("edited");
    expectBoth(session);
  });

  it("no longer once they are unpinned", async () => {
    const { deps, session, message } = await pinned();
    const draft: Draft = { type: "unpin", entry: message };
    await session.edit({ drafts: [draft], cause: "asked", nature: "reduced" });
    await compact({ deps, session });
    expect(times(session, codeword)).toBe(0);
    expect(times(session, found)).toBe(1);
  });

  it("a fork begins with the same bytes", async () => {
    const { deps, session } = await pinned();
    await compact({ deps, session });
    const { messages } = session.view();
    const line = new ForkLine({ messages: [...messages], usedTokens: tokens(0), fixedTokens: tokens(0) });
    expect(JSON.stringify(line.snapshot())).toBe(JSON.stringify(messages));
    expectBoth(session);
  });
});
