import { describe, expect, test } from "vitest";
import { cpuMillis } from "../../../../../test/fixture/cpu-millis.ts";
import { fillSession } from "../../../../../test/scenario/support/filled-session.ts";
import {
  append,
  call,
  offloaded,
  openedForTest,
  reply,
  result,
  testDeps,
  text,
  user,
} from "../../../../../test/fixture/session.ts";
import type { Session, SessionDeps } from "palimpsest/internal/session/session";
import { draftQueuedMessage } from "palimpsest/internal/context/inputs";
import { tokens, toolUseId } from "palimpsest/internal/schema/brand";
import { type Draft, resultDraft } from "palimpsest/internal/transcript/draft";
import type { CallItem, ChatItem } from "./chat-item.ts";
import type { ChatState } from "./chat-state.ts";
import { updateChat, createChat } from "./update-chat.ts";
import { restoreChat } from "./restore-chat.ts";
import { loadItemDetail } from "./item-detail.ts";

const none = tokens(0);
const empty = createChat({
  model: "m",
  autoCompact: "on",
  thresholds: {
    window: none,
    outputReserve: none,
    effective: none,
    compact: none,
    limit: none,
    warning: none,
    error: none,
    blocking: none,
  },
});

async function said(...drafts: readonly Draft[]): Promise<{ deps: SessionDeps; session: Session; state: ChatState }> {
  const deps = testDeps();
  const session = await openedForTest(deps);
  await append(session, ...drafts);
  return { deps, session, state: restoreChat(empty, session.fold.path.entries) };
}

const itemsOf = ({ done }: ChatState): readonly ChatItem[] => [...done];
const callsOf = (state: ChatState): readonly CallItem[] =>
  itemsOf(state).flatMap((item) => (item.kind === "call" ? [item] : []));

const boundary: Draft = {
  type: "system",
  subtype: "compact_boundary",
  compactMetadata: { trigger: "auto", preTokens: 150_000, postTokens: 20_000, path: "notes" },
};
const summary: Draft = { ...user("What was done: much."), isCompactSummary: true };

describe("a chat from a transcript", () => {
  test("has what both said, in order", async () => {
    const { state } = await said(
      user("Hello."),
      reply("r1", { type: "thinking", thinking: "Who?", signature: "s" }, text("Hello to you.")),
      draftQueuedMessage("And this."),
      reply("r2", text("That too.")),
    );
    expect(itemsOf(state)).toMatchObject([
      { kind: "user", id: 0, text: "Hello.", when: "first" },
      { kind: "thinking", id: 1, text: "Who?", state: "whole" },
      { kind: "text", id: 2, text: "Hello to you.", state: "whole" },
      { kind: "user", id: 3, text: "And this.", when: "meanwhile" },
      { kind: "text", id: 4, text: "That too.", state: "whole" },
    ]);
    const entries = itemsOf(state).map((item) => ("entry" in item ? item.entry : undefined));
    // A thought and the text after it are of one reply.
    expect(entries[1]).toBe(entries[2]);
    expect(new Set(entries).size).toBe(4);
    expect(entries).not.toContain(undefined);
  });

  test("has each call with its result in a line, one that nothing answered as interrupted", async () => {
    const error = (id: string, content: string): Draft => ({
      type: "user",
      message: { role: "user", content: [{ type: "tool_result", tool_use_id: id, content, is_error: true }] },
    });
    const { state } = await said(
      user("Go."),
      reply("r1", ...["t1", "t2", "t3", "t4", "t5"].map((id) => call(id))),
      result("t1", "first line\nsecond\nthird\n"),
      error("t2", "no such file"),
      error("t4", "[The person interrupted this call.]"),
      error("t5", "The user denied this call. Don't."),
    );
    expect(callsOf(state).map(({ title, state: end, summary: line }) => [title, end, line])).toEqual([
      ["t1", "done", "first line (3 lines)"],
      ["t2", "failed", "no such file"],
      ["t3", "interrupted", ""],
      ["t4", "interrupted", "[The person interrupted this call.]"],
      ["t5", "denied", ""],
    ]);
  });

  test("has a result's line as it was told when it came, and a denial's words", async () => {
    const denied = "The user denied this call. About how to go on, the user said:\nuse the other";
    const { state } = await said(
      user("Go."),
      reply("r1", call("t1"), call("t2")),
      resultDraft({ toolUse: toolUseId("t1"), content: "a\nb\nc", summary: "3 matches found" }),
      resultDraft({ toolUse: toolUseId("t2"), content: denied, isError: true }),
    );
    expect(callsOf(state).map(({ summary: line }) => line)).toEqual(["3 matches found", "use the other"]);
  });

  test.each<[string, readonly Draft[], number]>([
    ["a message that nothing answered", [user("Go.")], 1],
    ["a result that nothing came behind", [user("Go."), reply("r1", call("t1")), result("t1", "x")], 1],
    ["a call without a result", [user("Go."), reply("r1", text("I look."), call("t1"))], 1],
    ["an answer", [user("Go."), reply("r1", text("Done."))], 0],
    ["one turn of two", [user("Go."), user("Go on."), reply("r1", text("Done."))], 1],
  ])("says where a turn was interrupted: %s", async (_, drafts, count) => {
    const notices = itemsOf((await said(...drafts)).state).filter(({ kind }) => kind === "notice");
    expect(notices.map((item) => item.kind === "notice" && item.text)).toEqual(Array(count).fill("Interrupted."));
  });

  test("has a line for a boundary, which covers all since the one before, and none for its summary", async () => {
    const { state } = await said(
      user("One."),
      reply("r1", text("1")),
      boundary,
      summary,
      user("Two."),
      boundary,
      summary,
    );
    const lines = itemsOf(state).filter((item) => item.kind === "compacted");
    expect(lines.map(({ line, covers }) => [line, covers])).toEqual([
      ["Compacted: 150,000 → 20,000 tokens, by the notes.", { from: 0, to: 2 }],
      ["Compacted: 150,000 → 20,000 tokens, by the notes.", { from: 2, to: 4 }],
    ]);
    expect(itemsOf(state).filter(({ kind }) => kind === "user")).toHaveLength(2);
    expect(state.coveredTo).toBe(4);
  });

  test("has edits with the arithmetic of whoever decided", async () => {
    const clear: Draft = {
      type: "clear",
      results: [{ toolUse: "t1", shown: "[cleared]" }],
      attachments: [],
      cause: "size",
      tokensSaved: 4_100,
      because: "it pays",
    };
    const { state } = await said(
      user("Go."),
      reply("r1", call("t1")),
      result("t1", "x"),
      reply("r2", text("Done.")),
      clear,
    );
    expect(itemsOf(state).at(-1)).toMatchObject({
      kind: "edit",
      line: "Cleared 1 result: 4,100 tokens less.",
      because: "it pays",
    });
  });

  test("comes behind what is shown already, and numbers go on", async () => {
    const { session } = await said(user("Hello."), reply("r1", text("Hello.")));
    const before = updateChat(empty, { kind: "tell", tone: "plain", text: "first" });
    const state = restoreChat(before, session.fold.path.entries);
    expect(itemsOf(state).map(({ id }) => id)).toEqual([0, 1, 2]);
    expect([state.nextId, state.coveredTo]).toEqual([3, 1]);
    expect(itemsOf(updateChat(state, { kind: "tell", tone: "plain", text: "last" })).at(-1)?.id).toBe(3);
  });

  test("of 200,000 tokens takes no time that anybody would notice", async () => {
    const deps = testDeps();
    const session = await openedForTest(deps);
    await fillSession(session, { tokens: 200_000, shape: "work", model: "claude-sonnet-5" });
    const entries = session.fold.path.entries;
    const times = Array.from({ length: 5 }, () => {
      const from = cpuMillis();
      restoreChat(empty, entries);
      return cpuMillis() - from;
    });
    expect(restoreChat(empty, entries).done.length).toBeGreaterThan(100);
    expect(Math.min(...times)).toBeLessThan(50);
  });
});

describe("an item unfolds into", () => {
  test("the whole input and result of a call, also of one that was offloaded", async () => {
    const deps = testDeps();
    const session = await openedForTest(deps);
    const full = "0123456789".repeat(1_000);
    await append(session, user("Go."), reply("r1", call("t1"), call("t2")), result("t1", "short"));
    await append(session, ...(await offloaded(deps, "t2", full)));
    const [one, two] = callsOf(restoreChat(empty, session.fold.path.entries));
    if (one === undefined || two === undefined) throw new Error("no calls");
    const of = (item: ChatItem) => loadItemDetail(deps, { session: session.id, item });
    expect(await of(one)).toEqual({ kind: "call", input: { path: "t1" }, result: "short" });
    expect(await of(two)).toEqual({ kind: "call", input: { path: "t2" }, result: full });
    expect(await of({ ...one, call: toolUseId("other") })).toEqual({ kind: "nothing" });
  });

  test("the blocks of a result that has such", async () => {
    const blocks = [
      { type: "text", text: "a picture" },
      { type: "image", source: {} },
    ];
    const { deps, session, state } = await said(user("Go."), reply("r1", call("t1")), {
      type: "user",
      message: { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: blocks }] },
    });
    const [item] = callsOf(state);
    if (item === undefined) throw new Error("no call");
    expect(await loadItemDetail(deps, { session: session.id, item })).toMatchObject({ result: blocks });
  });

  test("the summary that a boundary put in place of what it covers", async () => {
    const { deps, session, state } = await said(user("One."), boundary, summary, user("Two."));
    const item = itemsOf(state).find(({ kind }) => kind === "compacted");
    if (item === undefined) throw new Error("no boundary");
    expect(await loadItemDetail(deps, { session: session.id, item })).toEqual({
      kind: "summary",
      text: "What was done: much.",
      original: [],
    });
  });

  test("what a boundary covers, where the chat begins with it", async () => {
    const { deps, session } = await said(
      user("Zero."),
      boundary,
      summary,
      user("One."),
      boundary,
      summary,
      user("Two."),
    );
    const { entries } = session.fold.path;
    const last = entries.findLastIndex(({ kind }) => kind === "edit");
    const item = itemsOf(restoreChat(empty, entries.slice(last))).find(({ kind }) => kind === "compacted");
    if (item === undefined) throw new Error("no boundary");
    expect(await loadItemDetail(deps, { session: session.id, item })).toMatchObject({
      kind: "summary",
      original: [{ kind: "user", text: "One." }],
    });
  });
});
