import { expect, it } from "vitest";
import { append, openedForTest, reply, testDeps, testSession, text, user } from "../../../../test/fixture/session.ts";
import { addBranchReceipts, pastReceipts } from "./past-receipts.ts";
import { branchReceiptsMax } from "./limits.ts";
import { rewind } from "./undo.ts";

it("13. Receipts and undo: a branch has a receipt: what it left is dropped, what stands before it is kept", async () => {
  const deps = testDeps();
  const session = await openedForTest(deps);
  await append(session, user("Go."), reply("m1", text("Gone.")));
  const [second] = await append(session, user("Further."), reply("m2", text("Much further.")));
  if (second === undefined) return expect.unreachable();
  const before = session.fold.shown();
  expect(await rewind(session, second)).toMatchObject({ kind: "rewound" });
  const source = await deps.transcripts.openForReading(testSession);
  if (source === undefined) return expect.unreachable();
  const { fold } = session;
  const edits = await pastReceipts(fold, source);
  expect(edits).toMatchObject([{ kind: "branch", receipt: undefined }]);
  const [branch] = await addBranchReceipts(deps, { source, origin: "ours", fold, edits });
  expect(before.size).toBe(4);
  expect(branch?.receipt?.entries).toEqual({ kept: 2, dropped: 2 });
  expect(branch?.receipt?.tokensAfter).toBeLessThan(branch?.receipt?.tokensBefore ?? 0);
  expect(branch?.undoes).toBe(true);
});

it("only the newest branches get one, whatever their number: each costs two readings of the log", async () => {
  const deps = testDeps();
  const session = await openedForTest(deps);
  await append(session, user("Go."), reply("m1", text("Gone.")));
  for (let at = 0; at < branchReceiptsMax + 3; at += 1) {
    const [further] = await append(session, user(`Further ${at}.`), reply(`n${at}`, text("Much further.")));
    if (further === undefined) return expect.unreachable();
    expect(await rewind(session, further)).toMatchObject({ kind: "rewound" });
  }
  const source = await deps.transcripts.openForReading(testSession);
  if (source === undefined) return expect.unreachable();
  const { fold } = session;
  const edits = await addBranchReceipts(deps, {
    source,
    origin: "ours",
    fold,
    edits: await pastReceipts(fold, source),
  });
  const has = edits.filter(({ kind }) => kind === "branch").map(({ receipt }) => receipt !== undefined);
  expect(has).toEqual([
    ...Array.from({ length: has.length - branchReceiptsMax }, () => false),
    ...Array.from({ length: branchReceiptsMax }, () => true),
  ]);
  expect(has.length).toBeGreaterThan(branchReceiptsMax);
});
