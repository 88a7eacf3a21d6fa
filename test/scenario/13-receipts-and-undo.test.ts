import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { appendBoundary } from "../../packages/palimpsest/src/session/append-boundary.ts";
import { expand } from "../../packages/palimpsest/src/session/expand.ts";
import type { EditOutcome, Session, SessionDeps } from "../../packages/palimpsest/src/session/session.ts";
import { undo, type UndoOutcome } from "../../packages/palimpsest/src/session/undo.ts";
import { type EntryId, tokens } from "../../packages/palimpsest/src/schema/brand.ts";
import type { Message } from "../../packages/palimpsest/src/schema/block.ts";
import type { Receipt } from "../../packages/palimpsest/src/schema/receipt.ts";
import { estimateBlock } from "../../packages/palimpsest/src/tokens/estimate-block.ts";
import type { Draft } from "../../packages/palimpsest/src/transcript/draft.ts";
import { flat, sourceOf } from "../fixture/log.ts";
import {
  append,
  call,
  cleared,
  logBytes,
  offloaded,
  openedForTest,
  reopened,
  reply,
  result,
  say,
  testDeps,
  text,
  user,
} from "../fixture/session.ts";
import { parametersFor } from "../property/runs.ts";
import { SessionPlayer, sessionMove } from "../property/session-moves.ts";

const runs = parametersFor({ quick: 120, long: 10_000 });

/** Two turns with a tool each; returns the entries by name. */
async function twoTurns(
  session: Session,
): Promise<Record<"ask1" | "call1" | "result1" | "ask2" | "call2" | "result2", EntryId>> {
  const ask1 = await say(session, user("first question"));
  const call1 = await say(session, reply("msg_1", text("looking"), call("toolu_1")));
  const result1 = await say(session, result("toolu_1", "first output ".repeat(20)));
  const ask2 = await say(session, user("second question"));
  const call2 = await say(session, reply("msg_2", call("toolu_2")));
  const result2 = await say(session, result("toolu_2", "second output ".repeat(20)));
  return { ask1, call1, result1, ask2, call2, result2 };
}

const bytesSent = (session: Session): string => JSON.stringify(session.view().messages);
const tokensSent = (messages: readonly Message[]): number =>
  flat(messages).reduce((sum, [, block]) => sum + estimateBlock(block), 0);

function receiptOf(edited: EditOutcome): Receipt {
  if (edited.kind === "failed") throw new Error(edited.message);
  return edited.receipt;
}

const edit = async (session: Session, draft: Draft, nature: "reduced" | "summarised" = "reduced"): Promise<Receipt> =>
  receiptOf(await session.edit({ drafts: [draft], cause: "asked", nature }));

const compact = async (
  deps: SessionDeps,
  session: Session,
  kept?: { head: EntryId; tail: EntryId },
): Promise<Receipt> =>
  receiptOf(
    await appendBoundary(deps, session, {
      summary: "what happened",
      trigger: "manual",
      ...(kept === undefined ? {} : { kept }),
    }),
  );

const undoNewest = (session: Session, target?: EntryId): Promise<UndoOutcome> =>
  undo(session, {
    mode: "path",
    blockingTokens: tokens(1e9),
    thinking: "free",
    ...(target === undefined ? {} : { target }),
  });

const rewrites: readonly {
  readonly name: string;
  readonly make: (
    deps: SessionDeps,
    session: Session,
    entries: Awaited<ReturnType<typeof twoTurns>>,
  ) => Promise<Receipt>;
}[] = [
  { name: "clear", make: (_, session) => edit(session, cleared("toolu_1")) },
  { name: "snip", make: (_, session, { ask1, call1 }) => edit(session, { type: "snip", entries: [ask1, call1] }) },
  {
    name: "collapse",
    make: (_, session, { ask1, result1 }) =>
      edit(session, { type: "collapse", span: { from: ask1, to: result1 }, shown: "the first turn" }, "summarised"),
  },
  { name: "boundary", make: (deps, session) => compact(deps, session) },
  {
    name: "boundary with a kept segment",
    make: (deps, session, { ask2, result2 }) => compact(deps, session, { head: ask2, tail: result2 }),
  },
];

describe("13. Receipts and undo", () => {
  describe.each(rewrites)("a $name", ({ make }) => {
    it("has a receipt with every entry in exactly one class", async () => {
      const deps = testDeps();
      const session = await openedForTest(deps);
      const entries = await twoTurns(session);
      const shownBefore = new Set(session.fold.shown().keys());
      const receipt = await make(deps, session, entries);
      const shownAfter = new Set(session.fold.shown().keys());
      const named = receipt.lines.map((line) => line.entry);
      expect(new Set(named).size).toBe(named.length);
      expect(new Set(named)).toEqual(shownBefore.union(shownAfter));
    });

    it("has a receipt whose token sums equal the two views", async () => {
      const deps = testDeps();
      const session = await openedForTest(deps);
      const entries = await twoTurns(session);
      const before = tokensSent(session.view().messages);
      const receipt = await make(deps, session, entries);
      expect(receipt.tokensBefore).toBe(before);
      expect(receipt.tokensAfter).toBe(tokensSent(session.view().messages));
      expect(receipt.tokensAfter).toBeLessThan(receipt.tokensBefore);
      expect(receipt.lines.reduce((sum, line) => sum + line.tokensBefore, 0)).toBe(receipt.tokensBefore);
      expect(receipt.lines.reduce((sum, line) => sum + line.tokensAfter, 0)).toBe(receipt.tokensAfter);
    });

    it("leaves every entry and every result to be had back byte for byte", async () => {
      const deps = testDeps();
      const session = await openedForTest(deps);
      const entries = await twoTurns(session);
      await make(deps, session, entries);
      const log = await logBytes(deps);
      const lines = new TextDecoder().decode(log).trimEnd().split("\n");
      for (const line of lines) {
        const expanded = await expand(deps, sourceOf(log), (JSON.parse(line) as { uuid: string }).uuid);
        expect(expanded).toMatchObject({ kind: "entry", bytes: new TextEncoder().encode(line) });
      }
      expect(await expand(deps, sourceOf(log), "toolu_1")).toMatchObject({
        kind: "result",
        bytes: new TextEncoder().encode("first output ".repeat(20)),
      });
    });

    it("undone, gives the byte-identical view, also after a reopening", async () => {
      const deps = testDeps({ tailBytes: 400 });
      let session = await openedForTest(deps);
      const entries = await twoTurns(session);
      const before = bytesSent(session);
      await make(deps, session, entries);
      expect(bytesSent(session)).not.toBe(before);
      session = await reopened(deps, session);
      expect((await undoNewest(session)).kind).toBe("undone");
      expect(bytesSent(session)).toBe(before);
      session = await reopened(deps, session);
      expect(bytesSent(session)).toBe(before);
    });

    it("undone after new turns, gives the original with the new turns behind it", async () => {
      const deps = testDeps();
      const session = await openedForTest(deps);
      const entries = await twoTurns(session);
      const before = flat(session.view().messages).map((block) => JSON.stringify(block));
      await make(deps, session, entries);
      await append(session, reply("msg_3", text("an answer")), user("third question"));
      await undoNewest(session);
      const now = flat(session.view().messages).map((block) => JSON.stringify(block));
      expect(now.slice(0, before.length)).toEqual(before);
      expect(now.slice(before.length)).toEqual(
        [
          ["assistant", text("an answer")],
          ["user", text("third question")],
        ].map((block) => JSON.stringify(block)),
      );
    });

    it("undone as a branch, goes on from before the edit and keeps the new turns on the old branch", async () => {
      const deps = testDeps();
      const session = await openedForTest(deps);
      const entries = await twoTurns(session);
      const before = bytesSent(session);
      await make(deps, session, entries);
      const [later] = await append(session, user("third question"));
      const outcome = await undo(session, { mode: "branch", blockingTokens: tokens(1e9), thinking: "free" });
      expect(outcome.kind).toBe("branched");
      expect(bytesSent(session)).toBe(before);
      expect(await expand(deps, sourceOf(await logBytes(deps)), later ?? "")).toMatchObject({ kind: "entry" });
    });

    it("undone, has a receipt of its own whose sums equal the two views", async () => {
      const deps = testDeps();
      const session = await openedForTest(deps);
      const entries = await twoTurns(session);
      const receipt = await make(deps, session, entries);
      const outcome = await undoNewest(session);
      const [undone] = outcome.kind === "undone" ? outcome.receipts : [];
      expect(undone).toMatchObject({ tokensBefore: receipt.tokensAfter, tokensAfter: receipt.tokensBefore });
    });

    it.each(["in one go", "after a reopening"])("made again %s, has the receipt that it had", async (when) => {
      const deps = testDeps({ tailBytes: 400 });
      let session = await openedForTest(deps);
      const entries = await twoTurns(session);
      const { tokensBefore, tokensAfter } = await make(deps, session, entries);
      const undone = await undoNewest(session);
      const [undoId] = undone.kind === "undone" ? undone.undos : [];
      if (when === "after a reopening") session = await reopened(deps, session);
      const redone = await undoNewest(session, undoId);
      const [again] = redone.kind === "undone" ? redone.receipts : [];
      expect(again).toMatchObject({ tokensBefore, tokensAfter });
      expect(tokensSent(session.view().messages)).toBe(tokensAfter);
      await session.close();
    });

    it("has its receipt's totals in the log with it: no rewrite without a receipt", async () => {
      const deps = testDeps();
      const session = await openedForTest(deps);
      const entries = await twoTurns(session);
      const receipt = await make(deps, session, entries);
      const logged = new TextDecoder()
        .decode(await logBytes(deps))
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as { uuid: string; receipt?: Receipt });
      expect(logged.find(({ uuid }) => uuid === receipt.edits[0])?.receipt).toMatchObject({
        tokensBefore: receipt.tokensBefore,
        tokensAfter: receipt.tokensAfter,
      });
    });
  });

  it("undo works three levels deep, newest first", async () => {
    const deps = testDeps({ tailBytes: 400 });
    const session = await openedForTest(deps);
    const { ask1, call1, ask2, result2 } = await twoTurns(session);
    const views = [bytesSent(session)];
    await edit(session, cleared("toolu_1"));
    views.push(bytesSent(session));
    await compact(deps, session, { head: ask2, tail: result2 });
    views.push(bytesSent(session));
    await compact(deps, session);
    for (const view of views.toReversed()) {
      await undoNewest(session);
      expect(bytesSent(session)).toBe(view);
    }
    expect((await undoNewest(session)).kind).toBe("refused");
    expect([ask1, call1].every((entry) => session.fold.path.has(entry))).toBe(true);
  });

  it("undoing a boundary that a newer one covers undoes the newer first, and says so", async () => {
    const deps = testDeps();
    const session = await openedForTest(deps);
    await twoTurns(session);
    const before = bytesSent(session);
    const first = await compact(deps, session);
    const second = await compact(deps, session);
    const outcome = await undoNewest(session, first.edits[0]);
    expect(outcome).toMatchObject({ kind: "undone", said: [expect.stringContaining(second.edits[0] ?? "?")] });
    expect(bytesSent(session)).toBe(before);
  });

  it("a clear inside a covered span takes effect again once the boundary is undone", async () => {
    const deps = testDeps();
    const session = await openedForTest(deps);
    await twoTurns(session);
    await edit(session, cleared("toolu_1"));
    await compact(deps, session);
    await undoNewest(session);
    expect(bytesSent(session)).toContain("[cleared toolu_1]");
  });

  it("an undo of an undo is a redo", async () => {
    const deps = testDeps();
    const session = await openedForTest(deps);
    await twoTurns(session);
    await compact(deps, session);
    const compacted = bytesSent(session);
    const undone = await undoNewest(session);
    const edits = undone.kind === "undone" ? undone.receipts.flatMap((receipt) => receipt.edits) : [];
    await undoNewest(session, edits[0]);
    expect(bytesSent(session)).toBe(compacted);
  });

  it("an undo that would lead over the blocking limit is refused with the size, and its redo is not", async () => {
    const deps = testDeps();
    const session = await openedForTest(deps);
    await twoTurns(session);
    const before = session.ledger.size.tokens;
    await compact(deps, session);
    const compacted = bytesSent(session);
    const limits = { mode: "path", blockingTokens: tokens(session.ledger.size.tokens + 1), thinking: "free" } as const;
    const refused = await undo(session, limits);
    expect(refused).toMatchObject({
      kind: "refused",
      why: "too-large",
      text: expect.stringContaining(String(before)) as unknown,
    });
    expect(bytesSent(session)).toBe(compacted);
    const undone = await undoNewest(session);
    const edits = undone.kind === "undone" ? undone.receipts.flatMap(({ edits: of }) => of) : [];
    expect(await undo(session, { ...limits, ...(edits[0] === undefined ? {} : { target: edits[0] }) })).toMatchObject({
      kind: "undone",
    });
    expect(bytesSent(session)).toBe(compacted);
  });

  it("an offload undone gives the original from its blob, also where a boundary came behind it and the log was opened from its end", async () => {
    const deps = testDeps({ tailBytes: 400 });
    let session = await openedForTest(deps);
    const [asked, called] = await append(session, user("read it"), reply("msg_1", call("toolu_1")));
    const [shown, offload] = await offloaded(deps, "toolu_1", "the whole long text");
    const answered = shown === undefined ? asked : await say(session, shown);
    const receipt = offload === undefined ? undefined : await edit(session, offload);
    await append(session, reply("msg_2", text("done")), user("go on"));
    await compact(deps, session, { head: called ?? ("" as EntryId), tail: answered ?? ("" as EntryId) });
    session = await reopened(deps, session);
    expect(session.read.from).toBe("boundary");
    await undoNewest(session, receipt?.edits[0]);
    expect(bytesSent(session)).toContain("the whole long text");
    const live = bytesSent(session);
    session = await reopened(deps, session);
    expect(bytesSent(session)).toBe(live);
  });

  it("on models that bind thinking to its prefix, thinking behind the undone edit is dropped", async () => {
    const deps = testDeps();
    const session = await openedForTest(deps);
    await twoTurns(session);
    await edit(session, cleared("toolu_1"));
    await append(
      session,
      reply("msg_3", { type: "thinking", thinking: "hm", signature: "signed" }, text("an answer")),
      user("third question"),
    );
    expect(bytesSent(session)).toContain("signed");
    await undo(session, { mode: "path", blockingTokens: tokens(1e9), thinking: "bound" });
    expect(bytesSent(session)).not.toContain("signed");
    expect(bytesSent(session)).toContain("an answer");
  });

  it("a repair is not undone: a request was sent with it", async () => {
    const session = await openedForTest(testDeps());
    await append(session, user("go"), reply("msg_1", call("toolu_1")));
    const settled = await session.settle();
    const [repair] = settled.kind === "appended" ? settled.entries : [];
    expect(await undoNewest(session, repair)).toMatchObject({ kind: "refused", why: "was-sent" });
  });

  it("over whole generated sessions: one class each, sums equal to the views, and nothing lost", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(sessionMove, { minLength: 1, maxLength: 16 }), async (moves) => {
        const deps = testDeps({ tailBytes: 500 });
        const player = await SessionPlayer.start(deps);
        for (const move of moves) {
          const count = player.receipts.length;
          const before = sumShown(player.session);
          await player.play(move);
          const receipt =
            player.receipts.length === count + 1 && move.do !== "reply" ? player.receipts.at(-1) : undefined;
          if (receipt === undefined) continue;
          expect(new Set(receipt.lines.map((line) => line.entry)).size).toBe(receipt.lines.length);
          expect([receipt.tokensBefore, receipt.tokensAfter]).toEqual([before, sumShown(player.session)]);
        }
        const source = sourceOf(await logBytes(deps));
        for (const [toolUse, original] of player.originals) {
          expect(await expand(deps, source, toolUse)).toMatchObject({ bytes: new TextEncoder().encode(original) });
        }
      }),
      runs,
    );
  });

  it("an offload that was undone and made again has a receipt with both views", async () => {
    const deps = testDeps();
    let session = await openedForTest(deps);
    await append(session, user("Go."), reply("msg_1", call("toolu_1")));
    const ids = await append(session, ...(await offloaded(deps, "toolu_1", "a long output ".repeat(2_000))));
    const shown = tokensSent(session.view().messages);
    const undone = await undoNewest(session, ids.at(-1));
    const whole = tokensSent(session.view().messages);
    const [undoId] = undone.kind === "undone" ? undone.undos : [];
    session = await reopened(deps, session);
    const redone = await undoNewest(session, undoId);
    const [again] = redone.kind === "undone" ? redone.receipts : [];
    expect(again).toMatchObject({ tokensBefore: whole, tokensAfter: shown });
    expect(whole).toBeGreaterThan(shown);
    await session.close();
  });
});

const sumShown = (session: Session): number =>
  session.fold
    .shown()
    .values()
    .reduce((sum, blocks) => sum + blocks.reduce((of, block) => of + estimateBlock(block), 0), 0);
