import { describe, expect, it } from "vitest";
import type { Block, Message } from "../schema/block.ts";
import { entryId, messageId, type ToolUseId, toolUseId } from "../schema/brand.ts";
import { Flattener, type FlattenOptions } from "./flattener.ts";
import type { Item } from "./item.ts";
import type { Decision } from "./projection.ts";
import { interruptedText, lateResultHeader } from "./repair.ts";

const text = (words: string): Block => ({ type: "text", text: words });
const thinking = (words: string, signature = "signed"): Block => ({ type: "thinking", thinking: words, signature });
const call = (id: string): Block => ({ type: "tool_use", id: toolUseId(id), name: "Read", input: {} });
const result = (id: string, content = `output of ${id}`): Block => ({
  type: "tool_result",
  tool_use_id: toolUseId(id),
  content,
});

let serial = 0;
const item = (role: Item["role"], reply: string | undefined, blocks: readonly Block[]): Item => ({
  entry: entryId(`e${(serial += 1)}`),
  role,
  messageId: reply === undefined ? undefined : messageId(reply),
  blocks,
  thinking: "kept",
  at: serial,
});
const user = (...blocks: readonly Block[]): Item => item("user", undefined, blocks);
const says = (reply: string, ...blocks: readonly Block[]): Item => item("assistant", reply, blocks);

function flattened(items: readonly Item[], options: Partial<FlattenOptions> = {}): Flattener {
  const flat = new Flattener({ decisions: new Map(), ...options });
  for (const one of items) flat.push(one);
  return flat;
}

/** `u:` and `a:` with a short word for each block: what a request looks like at a glance. */
const look = (messages: readonly Message[]): string[] =>
  messages.map(({ role, content }) => `${role[0]}: ${content.map(short).join(" ")}`);
function short(block: Block): string {
  if (block.type === "text") return block.text;
  if (block.type === "tool_use") return `call(${block.id})`;
  if (block.type === "tool_result") return `result(${block.tool_use_id}${block.is_error === true ? ", error" : ""})`;
  return block.type;
}

describe("flattening", () => {
  it.each<[string, () => Item[], string[]]>([
    ["user messages in a row are one", () => [user(text("1")), user(text("2"))], ["u: 1 2"]],
    [
      "entries of one reply are one message",
      () => [user(text("1")), says("m", text("a")), says("m", text("b"))],
      ["u: 1", "a: a b"],
    ],
    [
      "replies that nothing separates are one message",
      () => [user(text("1")), says("m", text("a")), says("n", text("b"))],
      ["u: 1", "a: a b"],
    ],
    [
      "interleaved calls and results are one reply and one answer",
      () => [user(text("1")), says("m", call("x")), user(result("x")), says("m", call("y")), user(result("y"))],
      ["u: 1", "a: call(x) call(y)", "u: result(x) result(y)"],
    ],
    [
      "results stand in the order of their calls",
      () => [user(text("1")), says("m", call("x"), call("y")), user(result("y")), user(result("x"))],
      ["u: 1", "a: call(x) call(y)", "u: result(x) result(y)"],
    ],
    [
      "results stand before text",
      () => [user(text("1")), says("m", call("x")), user(text("by the way"), result("x"))],
      ["u: 1", "a: call(x)", "u: result(x) by the way"],
    ],
    [
      "a result finds its call however late it comes",
      () => [user(text("1")), says("m", call("x")), user(text("2")), says("n", text("b")), user(result("x"))],
      ["u: 1", "a: call(x)", "u: result(x) 2", "a: b"],
    ],
    [
      "a result that comes before its call waits for it",
      () => [user(result("x"), text("1")), says("m", call("x"))],
      ["u: 1", "a: call(x)", "u: result(x)"],
    ],
    [
      "a second result of a call is left out",
      () => [user(text("1")), says("m", call("x")), user(result("x")), user(result("x", "again"))],
      ["u: 1", "a: call(x)", "u: result(x)"],
    ],
    [
      "a second call with the same id is left out",
      () => [user(text("1")), says("m", call("x")), says("n", call("x"))],
      ["u: 1", "a: call(x)"],
    ],
    ["a result without a call is left out", () => [user(text("1"), result("x"))], ["u: 1"]],
    [
      "more of a reply, behind another reply, is something new",
      () => [
        user(text("1")),
        says("m", text("a")),
        user(text("2")),
        says("n", text("b")),
        user(text("3")),
        says("m", text("c")),
      ],
      ["u: 1", "a: a", "u: 2", "a: b", "u: 3", "a: c"],
    ],
    [
      "text without a visible character is left out",
      () => [user(text("1"), text(" \n")), says("m", text(""), text("a"))],
      ["u: 1", "a: a"],
    ],
    [
      "a reply of nothing but thinking is no message",
      () => [user(text("1")), says("m", thinking("hm")), user(text("2"))],
      ["u: 1 2"],
    ],
    [
      "thinking waits for what it led to",
      () => [user(text("1")), says("m", thinking("hm")), says("m", text("a"))],
      ["u: 1", "a: thinking a"],
    ],
    [
      "trailing thinking is left out",
      () => [user(text("1")), says("m", text("a")), says("m", thinking("hm"))],
      ["u: 1", "a: a"],
    ],
    [
      "thinking that is not first in its turn is left out",
      () => [user(text("1")), says("m", text("a")), says("m", thinking("hm"), text("b"))],
      ["u: 1", "a: a b"],
    ],
    [
      "unsigned thinking is left out",
      () => [user(text("1")), says("m", thinking("hm", ""), text("a"))],
      ["u: 1", "a: a"],
    ],
    [
      "blocks of the other's turn are left out",
      () => [user(text("1"), call("x")), says("m", result("x"), text("a"))],
      ["u: 1", "a: a"],
    ],
    ["blocks of no known type are left out", () => [user(text("1"), { type: "unknown", was: 1 })], ["u: 1"]],
  ])("%s", (_, items, expected) => {
    expect(look(flattened(items()).groups)).toEqual(expected);
  });

  it("messages hold role and content, nothing of our own", () => {
    const { groups } = flattened([user(text("1")), says("m", call("x")), user(result("x"))]);
    for (const message of groups) expect(Object.keys(message)).toEqual(["role", "content"]);
  });

  it("an open call gets a synthetic answer in its place, without touching the groups", () => {
    const flat = flattened([user(text("1")), says("m", call("x"), call("y"), call("z")), user(result("y"), text("2"))]);
    expect(look(flat.withSyntheticResults())).toEqual([
      "u: 1",
      "a: call(x) call(y) call(z)",
      "u: result(x, error) result(y) result(z, error) 2",
    ]);
    expect(look(flat.groups)).toEqual(["u: 1", "a: call(x) call(y) call(z)", "u: result(y) 2"]);
    expect([...flat.open]).toEqual(["x", "z"]);
  });

  it("ids that the API would refuse are replaced on both sides of the pair", () => {
    expect(look(flattened([user(text("1")), says("m", call("a:b")), user(result("a:b"))]).groups)).toEqual([
      "u: 1",
      "a: call(call_a_b)",
      "u: result(call_a_b)",
    ]);
  });

  it("inputs are normalised if the tool is known", () => {
    const flat = flattened([says("m", call("x"))], { normaliseInput: (name) => ({ for: name }) });
    expect(flat.groups[0]?.content[0]).toMatchObject({ input: { for: "Read" } });
  });

  it("cache markers of a recorded request are taken off", () => {
    const marked: Block = Object.assign(text("1"), { cache_control: { type: "ephemeral" } });
    expect(flattened([user(marked)]).groups[0]?.content).toEqual([text("1")]);
  });

  it.each<[string, () => Item[], string]>([
    ["orphan-result", () => [user(text("1"), result("x"))], "orphan-result"],
    ["duplicate-result", () => [says("m", call("x")), user(result("x")), user(result("x"))], "duplicate-result"],
    ["duplicate-call", () => [says("m", call("x")), says("n", call("x"))], "duplicate-call"],
    ["block-left-out", () => [user({ type: "unknown", was: 1 })], "block-left-out"],
    ["thinking-left-out", () => [says("m", text("a")), says("m", thinking("hm"), text("b"))], "thinking-left-out"],
  ])("what is left out is noted: %s", (_, items, kind) => {
    expect(flattened(items()).repairs.map((repair) => repair.kind)).toEqual([kind]);
  });
});

describe("a repair on the path", () => {
  const decided = (toolUse: string, ...decisions: Decision[]): ReadonlyMap<ToolUseId, Decision[]> =>
    new Map([[toolUseId(toolUse), decisions]]);
  const decision = (kind: Decision["kind"], at: number, shown: string): Decision => ({
    by: entryId(`d${at}`),
    kind,
    shown,
    at,
  });
  const at = (one: Item, place: number): Item => ({ ...one, at: place });
  const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "aGk=" } };
  const asked = (): Item[] => [at(user(text("1")), 0), at(says("m", call("x")), 1)];

  it("answers its call at its position: later messages come after it", () => {
    const flat = flattened([...asked(), at(says("n", text("b")), 3)], {
      decisions: decided("x", decision("repair", 2, "[gone]")),
    });
    expect(look(flat.groups)).toEqual(["u: 1", "a: call(x)", "u: result(x, error)", "a: b"]);
  });

  it("a result that arrives after its repair is added as a new message", () => {
    const flat = flattened([...asked(), at(user(result("x")), 3)], {
      decisions: decided("x", decision("repair", 2, "[gone]")),
    });
    expect(look(flat.groups)).toEqual([
      "u: 1",
      "a: call(x)",
      `u: result(x, error) ${lateResultHeader("Read", toolUseId("x"))} output of x`,
    ]);
    expect(flat.repairs.map(({ kind }) => kind)).toEqual(["late-result"]);
  });

  it("an image in a result that arrives after its repair follows its text, until a clear removes both", () => {
    const shot: Block = {
      type: "tool_result",
      tool_use_id: toolUseId("x"),
      content: [{ type: "text", text: "a screenshot" }, image],
    };
    const decisions = new Map([[toolUseId("x"), [decision("repair", 2, "[gone]")]]]);
    const items = [...asked(), at(user(shot, text("and on")), 3)];
    const flat = flattened(items, { decisions });
    const header = text(lateResultHeader("Read", toolUseId("x")));
    expect(flat.groups.at(-1)?.content.slice(1)).toEqual([header, text("a screenshot"), image, text("and on")]);
    decisions.get(toolUseId("x"))?.push(decision("clear", 4, "[cleared]"));
    flat.decide([toolUseId("x")]);
    expect(flat.groups.at(-1)?.content.slice(1)).toEqual([header, text("[cleared]"), text("and on")]);
    expect(flattened(items, { decisions }).groups).toEqual(flat.groups);
  });

  it("a second repair leaves a late result unchanged, its image too", () => {
    const shot: Block = { type: "tool_result", tool_use_id: toolUseId("x"), content: [image] };
    const decisions = new Map([[toolUseId("x"), [decision("repair", 2, "[gone]")]]]);
    const items = [...asked(), at(user(shot), 3)];
    const flat = flattened(items, { decisions });
    decisions.get(toolUseId("x"))?.push(decision("repair", 4, "[gone again]"));
    flat.decide([toolUseId("x")]);
    expect(flat.groups.at(-1)?.content.at(-1)).toEqual(image);
    expect(flattened(items, { decisions }).groups).toEqual(flat.groups);
  });

  it("is skipped if the real result came first", () => {
    const flat = flattened([...asked(), at(user(result("x")), 2)], {
      decisions: decided("x", decision("repair", 3, "[gone]")),
    });
    flat.settle();
    expect(look(flat.groups)).toEqual(["u: 1", "a: call(x)", "u: result(x)"]);
  });

  it("a clear after a late result changes the late text, live as well as folded again", () => {
    const decisions = new Map([[toolUseId("x"), [decision("repair", 2, "[gone]")]]]);
    const items = [...asked(), at(user(result("x")), 3)];
    const live = flattened(items, { decisions });
    decisions.get(toolUseId("x"))?.push(decision("clear", 4, "[cleared]"));
    live.decide([toolUseId("x")]);
    expect(look(live.groups).at(-1)).toContain("[cleared]");
    expect(look(flattened(items, { decisions }).groups)).toEqual(look(live.groups));
  });

  it("a decision from before a call is not about it", () => {
    const flat = flattened([at(user(text("1")), 5), at(says("m", call("x")), 6), at(user(result("x")), 7)], {
      decisions: decided("x", decision("clear", 2, "[cleared]")),
    });
    expect(JSON.stringify(flat.groups)).toContain("output of x");
  });

  it("shows its own words", () => {
    const flat = flattened(asked(), { decisions: decided("x", decision("repair", 2, interruptedText)) });
    flat.settle();
    expect(flat.groups.at(-1)?.content).toEqual([
      { type: "tool_result", tool_use_id: "x", content: interruptedText, is_error: true },
    ]);
  });
});
