import { expect, it } from "vitest";
import { append, openedForTest, reply, testDeps, testSession, text, user } from "../../../../test/fixture/session.ts";
import { memoryByteSource } from "../store/memory/memory-blobs.ts";
import { openCounted } from "./counted-log.ts";
import { addComputedReceipts, pastReceipts } from "./past-receipts.ts";
import { computedReceiptsMax } from "./limits.ts";
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
  expect(edits).toMatchObject([{ kind: "branch", by: "caller", receipt: undefined }]);
  const [branch] = await addComputedReceipts(deps, { source, origin: "ours", fold, edits });
  expect(before.size).toBe(4);
  expect(branch?.receipt?.entries).toEqual({ kept: 2, dropped: 2 });
  expect(branch?.receipt?.tokensAfter).toBeLessThan(branch?.receipt?.tokensBefore ?? 0);
  expect(branch?.undoes).toBe(true);
});

it("only the newest branches get one, whatever their number: each costs two readings of the log", async () => {
  const deps = testDeps();
  const session = await openedForTest(deps);
  await append(session, user("Go."), reply("m1", text("Gone.")));
  for (let at = 0; at < computedReceiptsMax + 3; at += 1) {
    const [further] = await append(session, user(`Further ${at}.`), reply(`n${at}`, text("Much further.")));
    if (further === undefined) return expect.unreachable();
    expect(await rewind(session, further)).toMatchObject({ kind: "rewound" });
  }
  const source = await deps.transcripts.openForReading(testSession);
  if (source === undefined) return expect.unreachable();
  const { fold } = session;
  const edits = await addComputedReceipts(deps, {
    source,
    origin: "ours",
    fold,
    edits: await pastReceipts(fold, source),
  });
  const has = edits.filter(({ kind }) => kind === "branch").map(({ receipt }) => receipt !== undefined);
  expect(has).toEqual([
    ...Array.from({ length: has.length - computedReceiptsMax }, () => false),
    ...Array.from({ length: computedReceiptsMax }, () => true),
  ]);
  expect(has.length).toBeGreaterThan(computedReceiptsMax);
});

it("13. Receipts and undo: a boundary that another agent wrote has one: what its summary replaced, and what it kept", async () => {
  const line = (type: string, uuid: string, more: object): string =>
    JSON.stringify({ type, uuid, timestamp: "2026-01-01T00:00:00.000Z", ...more });
  const says = (role: "user" | "assistant", content: string) => ({ message: { id: role, role, content } });
  const segment = { headUuid: "u2", anchorUuid: "s", tailUuid: "u2" };
  const boundary = { subtype: "compact_boundary", parentUuid: null, logicalParentUuid: "u2" };
  const log = [
    line("user", "u1", { parentUuid: null, ...says("user", "Go far. ".repeat(100)) }),
    line("assistant", "a1", { parentUuid: "u1", ...says("assistant", "Gone.") }),
    line("user", "u2", { parentUuid: "a1", ...says("user", "Further.") }),
    line("system", "b", { ...boundary, compactMetadata: { trigger: "auto", preservedSegment: segment } }),
    line("user", "s", { parentUuid: "b", isCompactSummary: true, ...says("user", "They went.") }),
  ];
  const source = memoryByteSource(new TextEncoder().encode(`${log.join("\n")}\n`));
  const deps = testDeps();
  const { fold } = await openCounted(deps, { source, origin: "foreign" });
  const edits = await pastReceipts(fold, source);
  expect(edits).toMatchObject([{ kind: "boundary", by: "engine", receipt: undefined }]);
  const [computed] = await addComputedReceipts(deps, { source, origin: "foreign", fold, edits });
  expect(computed).toMatchObject({ cause: "auto", receipt: { entries: { summarised: 2, kept: 1, added: 1 } } });
  expect(computed?.receipt?.tokensAfter).toBeLessThan((computed?.receipt?.tokensBefore ?? 0) / 4);
});
