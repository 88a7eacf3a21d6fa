import { describe, expect, it } from "vitest";
import type { Block } from "../../schema/block.ts";
import { entryId, messageId, toolUseId } from "../../schema/brand.ts";
import type { Item } from "../../transcript/item.ts";
import { lastSettledEntry } from "../2-clear/round.ts";
import { type KeepInput, keepBehindNotes } from "./plan.ts";

/** By a row of short words: who speaks, and how many thousands of tokens. */
interface Made extends Item {
  readonly size: number;
}

const text: Block = { type: "text", text: "words" };
const made = (name: string, size: number, more: Partial<Item>): Made => ({
  entry: entryId(name),
  role: "user",
  messageId: undefined,
  blocks: [text],
  thinking: "kept",
  at: 0,
  size: size * 1_000,
  ...more,
});
const user = (name: string, size: number): Made => made(name, size, {});
const reply = (name: string, size: number, id = name): Made =>
  made(name, size, { role: "assistant", messageId: messageId(id) });
const call = (name: string, size: number, id = name): Made =>
  made(name, size, {
    role: "assistant",
    messageId: messageId(id),
    blocks: [{ type: "tool_use", id: toolUseId(name), name: "read", input: {} }],
  });
const result = (of: string, size: number): Made =>
  made(`${of}-result`, size, { blocks: [{ type: "tool_result", tool_use_id: toolUseId(of), content: "" }] });
const summary = (name: string, size: number): Made => made(name, size, { summary: true });
const reminder = (name: string, size: number): Made => made(name, size, { attachment: "file" });

const sizes = new Map<Item, number>();
const count: KeepInput["count"] = (item) => sizes.get(item) ?? 0;

function kept(items: readonly Made[], covers: string): readonly string[] | string {
  for (const item of items) sizes.set(item, item.size);
  const keep = keepBehindNotes({ items, covers: entryId(covers), count });
  return keep.kind === "keep" ? keep.items.map(({ entry }) => entry) : keep.why;
}

const talk = (from: number, to: number, size: number): Made[] =>
  Array.from({ length: to - from + 1 }, (_, nth) => from + nth).map((n) =>
    n % 2 === 1 ? user(`m${n}`, size) : reply(`m${n}`, size),
  );
const names = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, nth) => `m${from + nth}`);

describe("behind the notes stays", () => {
  const cases: readonly (readonly [string, readonly Made[], string, readonly string[]])[] = [
    ["what makes 10,000 tokens and 5 messages", talk(1, 20, 1), "m20", names(11, 20)],
    ["more than 5 messages where they are short", talk(1, 40, 0.5), "m40", names(21, 40)],
    ["more than 10,000 tokens where messages are long", talk(1, 20, 4), "m20", names(16, 20)],
    ["everything that the notes do not cover, and no more where that is enough", talk(1, 20, 1), "m8", names(9, 20)],
    ["everything that they do not cover, however much", talk(1, 20, 9), "m2", names(3, 20)],
    [
      "up to 40,000 tokens where messages with text are few",
      [...talk(1, 6, 1), ...["a", "b", "c", "d"].flatMap((name) => [call(name, 1), result(name, 11)])],
      "d-result",
      ["b", "b-result", "c", "c-result", "d", "d-result"],
    ],
    [
      "a call with its result, where the notes cover only the call",
      [...talk(1, 4, 3), call("a", 6), result("a", 6), ...talk(5, 10, 1)],
      "a",
      ["a", "a-result", ...names(5, 10)],
    ],
    [
      "a reply whole, with the results between its parts",
      [...talk(1, 4, 3), call("a", 4, "r"), result("a", 4), call("b", 4, "r"), result("b", 4), ...talk(5, 9, 1)],
      "a-result",
      ["a", "a-result", "b", "b-result", ...names(5, 9)],
    ],
    [
      "nothing of before the last boundary",
      [
        ...talk(1, 4, 3),
        summary("s", 3),
        user("x", 1),
        reply("y", 1),
        user("z", 1),
        reply("w", 9),
        user("v", 3),
        reply("t", 3),
      ],
      "t",
      ["y", "z", "w", "v", "t"],
    ],
    [
      "no round that reaches over it",
      [call("a", 1), summary("s", 1), result("a", 1), ...talk(1, 4, 1)],
      "m4",
      names(1, 4),
    ],
    [
      "no reminder counted as a message with text",
      [...talk(1, 10, 1), ...["a", "b", "c"].map((name) => reminder(name, 4))],
      "c",
      [...names(6, 10), "a", "b", "c"],
    ],
  ];
  it.each(cases)("%s", (_, items, covers, expected) => {
    expect(kept(items, covers)).toEqual(expected);
  });
});

describe("notes are not available where", () => {
  const cases: readonly (readonly [string, readonly Made[], string, string])[] = [
    ["the last message they cover is gone", talk(1, 20, 1), "elsewhere", "cover-gone"],
    ["it stands before the last boundary", [...talk(1, 4, 1), summary("s", 3), ...talk(5, 20, 1)], "m3", "cover-gone"],
    ["everything would stay", talk(1, 6, 1), "m6", "nothing-covered"],
    [
      "everything behind the last boundary would stay",
      [...talk(1, 4, 9), summary("s", 3), ...talk(5, 10, 1)],
      "m10",
      "nothing-covered",
    ],
    ["they cover the summary and nothing else", [summary("s", 3), ...talk(1, 30, 1)], "s", "nothing-covered"],
    ["a call reaches over the last boundary", [call("a", 1), summary("s", 1), result("a", 1)], "s", "no-cut"],
  ];
  it.each(cases)("%s", (_, items, covers, why) => {
    expect(kept(items, covers)).toBe(why);
  });
});

describe("notes that are taken now cover", () => {
  const cases: readonly (readonly [string, readonly Made[], string | undefined])[] = [
    ["everything where no call is open", [...talk(1, 3, 1), call("a", 1), result("a", 1)], "a-result"],
    ["nothing of a round that is not answered", [...talk(1, 3, 1), call("a", 1)], "m3"],
    [
      "nothing of a reply with one open call of two",
      [...talk(1, 2, 1), call("a", 1, "r"), result("a", 1), call("b", 1, "r")],
      "m2",
    ],
    ["nothing where nothing was said", [], undefined],
    ["nothing where only an open call is there", [call("a", 1)], undefined],
  ];
  it.each(cases)("%s", (_, items, entry) => {
    expect(lastSettledEntry(items)).toBe(entry);
  });
});
