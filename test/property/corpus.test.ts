import { describe, expect, it } from "vitest";
import { openLog } from "../../packages/palimpsest/src/session/open-log.ts";
import { type EntryId, entryId, type MessageId, type ToolUseId } from "../../packages/palimpsest/src/schema/brand.ts";
import type { Message } from "../../packages/palimpsest/src/schema/block.ts";
import { type Entry, readEntry } from "../../packages/palimpsest/src/schema/entry.ts";
import { parseJson } from "../../packages/palimpsest/src/schema/json.ts";
import { Fold } from "../../packages/palimpsest/src/transcript/fold.ts";
import { type LoggedEntry, readLines } from "../../packages/palimpsest/src/transcript/read-lines.ts";
import { violations } from "../../packages/palimpsest/src/transcript/violations.ts";
import { memoryBlobs } from "../../packages/palimpsest/src/store/memory/memory-blobs.ts";
import { corpusBytes, corpusFiles, hasCorpus } from "../fixture/corpus.ts";
import { flat, foldOf, sourceOf } from "../fixture/log.ts";

const reason = hasCorpus ? "" : " (left out: the folder PALIMPSEST_CORPUS/claude-code is not there)";

/** Tail pieces small enough that every file of the corpus is larger than several of them. */
const tailBytes = 16 * 1024;

describe.skipIf(!hasCorpus)(`recorded Claude Code sessions${reason}`, () => {
  it.each(corpusFiles)("%s holds the laws of the view", (name) => {
    const bytes = corpusBytes(name);
    const { logged, damage } = readLines({ bytes, start: 0, last: true });
    expect(damage, "opens without damage").toEqual([]);
    const fold = livedWell(logged);
    expect(resultsOffPath(logged, fold), "real results whose calls are on the path").toEqual([]);
    expect(plain(fold.view().messages), "live equals folded at once").toEqual(
      plain(foldOf(logged, { origin: "foreign" }).view().messages),
    );
    undoesWell(fold);
  });

  it.each(corpusFiles)("%s opened from its end gives the view of the whole", async (name) => {
    const bytes = corpusBytes(name);
    const whole = foldOf(readLines({ bytes, start: 0, last: true }).logged, { origin: "foreign" }).view();
    const tail = await openLog({ blobs: memoryBlobs() }, { source: sourceOf(bytes), origin: "foreign", tailBytes });
    const view = tail.fold.view();
    expect(JSON.stringify(view.messages) === JSON.stringify(whole.messages), "same messages").toBe(true);
    expect(view.sendable).toBe(whole.sendable);
    if (whole.path.boundaries.length > 0) expect(tail.read.bytes).toBeLessThanOrEqual(2 * bytes.length);
  });
});

/** One live fold over the log: well-formed at every line, valid and prefix-stable at every sendable point. */
function livedWell(logged: readonly LoggedEntry[]): Fold {
  const fold = new Fold({ origin: "foreign" });
  const lastByReply = lastLineByReply(logged);
  let sent: Message[] | undefined;
  for (const [at, one] of logged.entries()) {
    const step = fold.append(one);
    if (step === "switched" || (step === "extended" && changesHistory(one.entry))) sent = undefined;
    const view = fold.view({ continues: (reply) => (lastByReply.get(reply) ?? -1) > at });
    expect(violations(view.messages, { end: view.sendable ? "user" : "any" }), `line ${at + 1}`).toEqual([]);
    if (!view.sendable) continue;
    if (sent !== undefined) expectPrefix(sent, view.messages, at);
    sent = view.messages.map(({ role, content }) => ({ role, content: [...content] }));
  }
  return fold;
}

const changesHistory = (entry: Entry): boolean => entry.kind === "edit" || (entry.kind === "user" && entry.summary);

/** Blocks are frozen values, so the same block is the same object as long as nothing touched it. */
function expectPrefix(before: readonly Message[], after: readonly Message[], at: number): void {
  const now = flat(after);
  const changed = flat(before).findIndex(([role, block], index) => {
    const other = now[index];
    return (
      other === undefined ||
      other[0] !== role ||
      (other[1] !== block && JSON.stringify(other[1]) !== JSON.stringify(block))
    );
  });
  expect(changed, `line ${at + 1} changed a block that was sent`).toBe(-1);
}

function lastLineByReply(logged: readonly LoggedEntry[]): Map<MessageId, number> {
  const last = new Map<MessageId, number>();
  for (const [at, { entry }] of logged.entries())
    if (entry.kind === "assistant" && entry.messageId !== undefined) last.set(entry.messageId, at);
  return last;
}

/** Main-line results that are not on the path though their call is. */
function resultsOffPath(logged: readonly LoggedEntry[], fold: Fold): ToolUseId[] {
  const onPath = new Set(fold.path.entries);
  const calls = new Set<ToolUseId>();
  for (const entry of onPath)
    if (entry.kind === "assistant")
      for (const block of entry.blocks) if (block.type === "tool_use") calls.add(block.id);
  const off: ToolUseId[] = [];
  for (const { entry } of logged) {
    if (entry.kind !== "user" || entry.sidechain || onPath.has(entry)) continue;
    for (const block of entry.blocks)
      if (block.type === "tool_result" && calls.has(block.tool_use_id)) off.push(block.tool_use_id);
  }
  return off;
}

/** Three edits of different kinds on the recorded path, undone newest first: each gives back the bytes from before. */
function undoesWell(fold: Fold): void {
  const entries = fold.path.entries;
  const results = entries.flatMap((entry) =>
    entry.kind === "user"
      ? entry.blocks.flatMap((block) => (block.type === "tool_result" ? [block.tool_use_id] : []))
      : [],
  );
  const ids = entries.flatMap((entry) => (entry.kind === "user" && entry.id !== undefined ? [entry.id] : []));
  const some = ids.slice(-12, -9);
  const edits = [
    [
      {
        type: "clear",
        cause: "asked",
        results: results.slice(-6, -2).map((toolUse) => ({ toolUse, shown: "[cleared]" })),
      },
    ],
    [{ type: "snip", entries: some }],
    [
      {
        type: "system",
        subtype: "compact_boundary",
        content: "Conversation compacted",
        compactMetadata: { preservedSegment: { headUuid: ids.at(-5) ?? "", tailUuid: ids.at(-1) ?? "" } },
      },
      { type: "user", isCompactSummary: true, message: { role: "user", content: "what happened so far" } },
    ],
  ];
  const levels = edits.map((drafts, level) => {
    const before = JSON.stringify(fold.view().messages);
    const named = drafts.map((draft, at) => appended(fold, draft, `edit-${level}-${at}`));
    expect(violations(fold.view().messages, { end: "any" })).toEqual([]);
    return { before, edit: named[0] };
  });
  for (const { before, edit } of levels.toReversed()) {
    appended(fold, { type: "undo", edit }, `undo-${edit}`);
    expect(JSON.stringify(fold.view().messages) === before, `undo of ${edit}`).toBe(true);
  }
}

let offset = 1e9;
function appended(fold: Fold, draft: object, uuid: string): EntryId {
  const raw = { parentUuid: fold.path.leaf?.id ?? null, isSidechain: false, ...draft, uuid };
  const reading = readEntry(parseJson(JSON.stringify(raw)));
  if (reading.kind !== "entry") throw new Error(reading.why);
  fold.append({ entry: reading.entry, start: (offset += 1), end: offset });
  return entryId(uuid);
}

const plain = (messages: readonly Message[]): string[] => flat(messages).map((block) => JSON.stringify(block));
