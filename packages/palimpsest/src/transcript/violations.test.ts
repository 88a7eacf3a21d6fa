import { describe, expect, it } from "vitest";
import type { Block, Message } from "../schema/block.ts";
import { toolUseId } from "../schema/brand.ts";
import { cutPoints } from "./first-messages.ts";
import { mend, violations, type WireRule } from "./violations.ts";
import { firstUserLine } from "./repair.ts";

const text = (words: string): Block => ({ type: "text", text: words });
const call = (id: string): Block => ({ type: "tool_use", id: toolUseId(id), name: "Read", input: {} });
const result = (id: string, content = "x"): Block => ({ type: "tool_result", tool_use_id: toolUseId(id), content });
const thinking = (signature = "s"): Block => ({ type: "thinking", thinking: "hm", signature });
const user = (...content: Block[]): Message => ({ role: "user", content });
const says = (...content: Block[]): Message => ({ role: "assistant", content });

describe("the validator", () => {
  it("finds nothing in a valid request", () => {
    expect(
      violations([
        user(text("1")),
        says(thinking(), text("a"), call("x"), call("y")),
        user(result("x"), result("y"), text("2")),
      ]),
    ).toEqual([]);
  });

  it.each<[WireRule, Message[]]>([
    ["first-is-user", [says(text("a")), user(text("1"))]],
    ["last-is-user", [user(text("1")), says(text("a"))]],
    ["roles-alternate", [user(text("1")), user(text("2"))]],
    ["content-not-empty", [user()]],
    ["text-not-empty", [user(text(" \n"))]],
    ["block-known", [user({ type: "unknown", was: 1 }, text("1"))]],
    ["block-in-its-turn", [user(text("1"), thinking())]],
    ["block-in-its-turn", [user(text("1")), says({ type: "image" }), user(text("2"))]],
    ["call-id-form", [user(text("1")), says(call("a:b")), user(result("a:b"))]],
    ["call-id-unique", [user(text("1")), says(call("x")), user(result("x")), says(call("x")), user(result("x"))]],
    ["call-answered", [user(text("1")), says(call("x")), user(text("2"))]],
    ["result-has-call", [user(text("1")), says(text("a")), user(result("x"))]],
    ["result-once", [user(text("1")), says(call("x")), user(result("x"), result("x"))]],
    ["results-first", [user(text("1")), says(call("x")), user(text("2"), result("x"))]],
    ["result-not-empty", [user(text("1")), says(call("x")), user(result("x", ""))]],
    ["thinking-signed", [user(text("1")), says(thinking(""), text("a")), user(text("2"))]],
    ["thinking-first", [user(text("1")), says(text("a"), thinking(), text("b")), user(text("2"))]],
    ["thinking-not-last", [user(text("1")), says(thinking()), user(text("2"))]],
  ])("finds %s", (rule, messages) => {
    expect(violations(messages).map((one) => one.rule)).toEqual([rule]);
  });

  it("takes a compaction for a beginning, and for nothing else", () => {
    const compaction: Block = { type: "compaction" };
    expect(violations([says(compaction), user(text("1"))])).toEqual([]);
    expect(violations([says(text("a"), compaction), user(text("1"))])[0]?.rule).toBe("first-is-user");
    expect(violations([user(compaction, text("1"))])[0]?.rule).toBe("block-in-its-turn");
  });

  it("names places as the API does", () => {
    expect(violations([user(text("1"), text(""))])[0]?.path).toBe("messages.0.content.1");
  });

  it("with `end: any` a history may end in the assistant's turn, also with open calls", () => {
    expect(violations([user(text("1")), says(call("x"))], { end: "any" })).toEqual([]);
  });
});

describe("mending", () => {
  it.each<[string, Message[], Message[]]>([
    ["a valid history is left as it is", [user(text("1")), says(text("a"))], [user(text("1")), says(text("a"))]],
    ["a history without a user message is none", [says(text("a"))], []],
    [
      "a history that begins with the assistant gets a first line",
      [says(text("a")), user(text("1"))],
      [user(text(firstUserLine)), says(text("a")), user(text("1"))],
    ],
    ["messages of one role in a row are merged", [user(text("1")), user(text("2"))], [user(text("1"), text("2"))]],
    [
      "results are put first and in order",
      [user(text("1")), says(call("x"), call("y")), user(text("2"), result("y"), result("x"))],
      [user(text("1")), says(call("x"), call("y")), user(result("x"), result("y"), text("2"))],
    ],
    ["an orphaned result is left out", [user(text("1"), result("x"))], [user(text("1"))]],
  ])("%s", (_, messages, expected) => {
    expect(mend(messages).messages).toEqual(expected);
  });

  it("says what it did", () => {
    expect(mend([says(call("x")), user(text("1"), result("z"))]).repairs.map(({ kind }) => kind)).toEqual([
      "orphan-result",
      "synthetic-result",
      "first-user-line",
    ]);
  });
});

describe("cut points", () => {
  const history = [user(text("1")), says(call("x")), user(result("x")), says(text("a")), user(text("2"))];

  it("never part a call from its result", () => {
    expect(cutPoints(history)).toEqual([0, 1, 3, 4, 5]);
  });

  it("the end is none while calls are open", () => {
    expect(cutPoints(history.slice(0, 2))).toEqual([0, 1]);
    expect(cutPoints([])).toEqual([]);
  });
});
