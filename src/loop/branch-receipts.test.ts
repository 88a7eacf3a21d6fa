import { expect, it } from "vitest";
import { append, openedForTest, reply, testDeps, testSession, text, user } from "../../test/fixture/session.ts";
import { withBranchReceipts } from "./branch-receipts.ts";
import { pastReceipts } from "./past-receipts.ts";
import { rewind } from "./rewind.ts";

it("a branch has a receipt: what it left is dropped, what stands before it is kept", async () => {
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
  const [branch] = await withBranchReceipts(deps, { source, origin: "ours", fold, edits });
  expect(before.size).toBe(4);
  expect(branch?.receipt?.entries).toEqual({ kept: 2, dropped: 2 });
  expect(branch?.receipt?.tokensAfter).toBeLessThan(branch?.receipt?.tokensBefore ?? 0);
  expect(branch?.undoes).toBe(true);
});
