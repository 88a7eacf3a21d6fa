import {
  appendBoundary,
  expand,
  memoryStore,
  millis,
  openSession,
  type SessionDeps,
  sessionId,
  tokens,
  undo,
  userDraft,
} from "palimpsest";

/** Appends a boundary to a session, prints its receipt, expands an original, and undoes it. */
const store = await memoryStore().open();
if (store.kind === "failed") throw new Error(store.message);
const deps: SessionDeps = {
  ...store,
  now: () => millis(Date.now()),
  uuid: () => crypto.randomUUID(),
  isClearable: () => true,
};

const id = sessionId(crypto.randomUUID());
const opened = await openSession(deps, { id, mode: "create", circumstances: { cwd: process.cwd(), version: "1.0.0" } });
if (opened.kind !== "open") throw new Error(opened.kind);
const { session } = opened;

const said = await session.append(
  userDraft("Fix the failing test"),
  userDraft(`and keep the error texts:\n${"Sunday is not Monday.\n".repeat(200)}`),
);
if (said.kind === "failed") throw new Error(said.message);
const before = JSON.stringify(session.view().messages);

const compacted = await appendBoundary(deps, session, {
  summary: "Two requests: fix the test, keep the texts.",
  trigger: "manual",
});
if (compacted.kind === "failed") throw new Error(compacted.message);
console.log("receipt:", compacted.receipt.tokensBefore, "→", compacted.receipt.tokensAfter, "tokens");

const source = await deps.transcripts.openForReading(id);
if (source === undefined) throw new Error("the session is gone");
const original = await expand(deps, source, said.entries[0] ?? "");
await source.close();
console.log("original:", original.kind);

await undo(session, { mode: "path", blockingTokens: tokens(197_000), thinking: "free" });
console.log("undone:", JSON.stringify(session.view().messages) === before ? "byte-identical" : "different");
await session.close();
