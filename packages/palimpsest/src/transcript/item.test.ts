import { describe, expect, it } from "vitest";
import { call, chained, entryOf, type Raw, result, says, text, user } from "../../../../test/fixture/raw.ts";
import { entryId, toolUseId } from "../schema/brand.ts";
import { type Item, toItem, withPairs, itemsForModel } from "./item.ts";
import { userText, userTypedText } from "./user-text.ts";
import { resultBlock } from "./to-wire-block.ts";
import { placeDraft } from "./draft.ts";
import type { TextBlock, ServerSummary } from "../schema/block.ts";

const items = (raws: readonly Raw[]): Item[] =>
  chained(raws).flatMap((entry, at) => toItem(entry, { at, origin: "ours" }) ?? []);

describe("what an entry says", () => {
  it.each<[string, Raw, boolean]>([
    ["a user's message", user("1"), true],
    ["a reply", says("1", "m", text("x")), true],
    [
      "an attachment for the model",
      { type: "attachment", uuid: "1", attachment: { type: "todo", content: "x" } },
      true,
    ],
    [
      "an attachment for people",
      { type: "attachment", uuid: "1", attachment: { type: "hook_success", content: "x" } },
      false,
    ],
    [
      "an error placeholder",
      { type: "assistant", uuid: "1", isApiErrorMessage: true, message: { content: [] } },
      false,
    ],
    ["progress", { type: "progress", uuid: "1" }, false],
    ["an edit", { type: "pin", uuid: "1", entry: "e" }, false],
  ])("%s: %#", (_, raw, speaks) => {
    expect(toItem(entryOf(raw), { at: 0, origin: "ours" }) !== undefined).toBe(speaks);
  });

  it("thinking that another tool recorded is left out", () => {
    expect(toItem(entryOf(says("1", "m", text("x"))), { at: 0, origin: "foreign" })?.thinking).toBe("left-out");
  });
});

describe("a choice of items, widened", () => {
  const turns = items([
    user("u"),
    says("a", "m", call("x")),
    says("b", "m", call("y")),
    result("r", "x"),
    result("s", "y"),
    user("v"),
  ]);
  const widened = (direction: "calls" | "both", ...chosen: string[]): string =>
    [...withPairs(turns, new Set(chosen.map(entryId)), direction)].toSorted().join(" ");

  it.each<[string, string, string]>([
    ["a call brings its whole reply and all results", widened("calls", "a"), "a b r s"],
    ["a result alone brings nothing where items are kept", widened("calls", "r"), "r"],
    ["a result brings its call, the reply and its results where items are removed", widened("both", "r"), "a b r s"],
    ["a message without calls stays alone", widened("both", "u"), "u"],
  ])("%s", (_, found, expected) => {
    expect(found).toBe(expected);
  });
});

describe("what the user typed", () => {
  it.each<[string, Raw, string | undefined]>([
    ["their words", user("1", " hello "), "hello"],
    ["their words among other blocks", user("1", [{ type: "image" }, text("look")]), "look"],
    ["not a result", result("1", "x"), undefined],
    ["not a slash command", user("1", "<command-name>/clear</command-name>"), undefined],
    ["not a reminder", user("1", "<system-reminder>x</system-reminder>"), undefined],
    ["not the engine's own message", user("1", "x", { isMeta: true }), undefined],
    ["not a summary", user("1", "x", { isCompactSummary: true }), undefined],
    ["not a sidechain's", user("1", "x", { isSidechain: true }), undefined],
    ["not a reply", says("1", "m", text("x")), undefined],
  ])("%s", (_, raw, expected) => {
    expect(userTypedText(entryOf(raw))).toBe(expected);
  });

  it("next to results the user said it, but it begins no turn", () => {
    const beside = entryOf(user("1", [{ type: "tool_result", tool_use_id: "x" }, text("and the tests first")]));
    expect(userText(beside)).toBe("and the tests first");
    expect(userTypedText(beside)).toBeUndefined();
  });
});

describe("a result as it is sent", () => {
  const look = (content: unknown, shown?: string): unknown => {
    const block = {
      type: "tool_result",
      tool_use_id: toolUseId("x"),
      ...(content === undefined ? {} : { content }),
    } as Parameters<typeof resultBlock>[0];
    const sent = resultBlock(block, { toolName: "Read", shown });
    return sent.type === "tool_result" ? sent.content : undefined;
  };
  const none = "(Read completed with no output)";
  it.each<[string, unknown, unknown]>([
    ["text stays", look("x"), "x"],
    ["blocks stay", look([{ type: "text", text: "x" }]), [{ type: "text", text: "x" }]],
    ["nothing is said in words", look(undefined), none],
    ["blank text is said in words", look(" \n"), none],
    ["no blocks are said in words", look([]), none],
    [
      "blank blocks are left out",
      look([
        { type: "text", text: "" },
        { type: "text", text: "x" },
      ]),
      [{ type: "text", text: "x" }],
    ],
    [
      "a part the API does not take becomes text",
      look([{ type: "widget", w: 1 }]),
      [{ type: "text", text: '{"type":"widget","w":1}' }],
    ],
    ["the frozen text takes its place", look("x", "[cleared]"), "[cleared]"],
    ["a blank frozen text is said in words", look("x", " "), none],
  ])("%s", (_, sent, expected) => {
    expect(sent).toEqual(expected);
  });
});

describe("a draft", () => {
  const placing = {
    uuid: "n",
    leaf: entryId("l"),
    timestamp: "t",
    circumstances: { sessionId: "s", cwd: "/c", version: "v" },
  };

  it("hangs on the leaf unless it says otherwise", () => {
    expect(placeDraft({ type: "x" }, placing)["parentUuid"]).toBe("l");
    expect(placeDraft({ type: "x", parentUuid: null }, placing)["parentUuid"]).toBe(null);
    expect(placeDraft({ type: "x" }, { ...placing, leaf: undefined })["parentUuid"]).toBe(null);
  });

  it("becomes an entry with the fields in the ecosystem's order", () => {
    expect(Object.keys(placeDraft({ type: "user", message: {} }, placing))).toEqual([
      "parentUuid",
      "isSidechain",
      "userType",
      "sessionId",
      "cwd",
      "version",
      "type",
      "message",
      "uuid",
      "timestamp",
    ]);
  });
});

describe("as read", () => {
  const text = (words: string): TextBlock => ({ type: "text", text: words });
  const item = (entry: string, ...blocks: readonly TextBlock[]): Item => ({
    entry: entryId(entry),
    role: "user",
    messageId: undefined,
    blocks,
    thinking: "kept",
    at: 0,
  });
  const server: ServerSummary = { model: "writer", block: { type: "compaction" } };
  const summary: Item = { ...item("s", text("summary"), text("beside")), summary: true, server };
  const said = item("u", text("And now?"));

  describe("a provider's summary, in front of all", () => {
    it("is its block, as an assistant item, and the text that goes with it, for the model that wrote it", () => {
      const [block, beside, ...others] = itemsForModel("writer", [summary, said]);
      expect(block).toMatchObject({ entry: "s", role: "assistant", blocks: [server.block] });
      expect(beside).toMatchObject({ entry: "s", role: "user", blocks: [text("beside")] });
      expect(others).toEqual([said]);
    });

    it.each(["other", undefined])("is its text for another: %s", (reader) => {
      const items = [summary, said];
      expect(itemsForModel(reader, items)).toBe(items);
    });
  });

  it("a provider's summary that is not first is its text", () => {
    const items = [said, summary];
    expect(itemsForModel("writer", items)).toBe(items);
  });
});
