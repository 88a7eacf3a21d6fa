import { describe, expect, it } from "vitest";
import { isArray, isObject, type Json, type JsonObject } from "palimpsest/internal/schema/json";
import { BodyInterner } from "./body-interner.ts";
import { internedCharsMax } from "../limits.ts";

const says = (text: string): JsonObject => ({ role: "user", content: [{ type: "text", text }] });
const body = (...messages: readonly JsonObject[]): JsonObject => ({ model: "m", messages });
const messagesOf = (of: Json): readonly Json[] => {
  const messages = isObject(of) ? of["messages"] : undefined;
  return isArray(messages) ? messages : [];
};

describe("messages of a conversation", () => {
  it("that were sent before come back as the same objects, changed and new ones as they are", () => {
    const interned = new BodyInterner();
    const first = body(says("a"), says("b"), says("c"));
    interned.remember(first);
    const second = body(says("a"), says("B"), says("c"), says("d"));
    const known = interned.reuseKnown(second);
    expect(known).toEqual(second);
    expect(messagesOf(known).map((message, at) => message === messagesOf(first)[at])).toEqual([
      true,
      false,
      true,
      false,
    ]);
  });

  it("keep company with tools and a system prompt that are the same", () => {
    const interned = new BodyInterner();
    const first = { ...body(says("a")), tools: [{ name: "look" }], system: [{ type: "text", text: "Rules." }] };
    interned.remember(first);
    const known = interned.reuseKnown(structuredClone(first));
    if (!isObject(known)) expect.unreachable();
    expect(
      [known["tools"], known["system"]].map(
        (list, at) => Array.isArray(list) && list[0] === [first.tools, first.system][at]?.[0],
      ),
    ).toEqual([true, true]);
  });

  it("whose fields stand in another order are not the same", () => {
    const interned = new BodyInterner();
    const call = (input: JsonObject): JsonObject => ({ role: "assistant", content: [{ type: "tool_use", input }] });
    const first = body(says("a"), call({ x: 1, y: 2 }));
    interned.remember(first);
    const known = interned.reuseKnown(body(says("a"), call({ y: 2, x: 1 })));
    expect(JSON.stringify(messagesOf(known)[1])).toBe(JSON.stringify(call({ y: 2, x: 1 })));
  });

  it("are forgotten, the oldest conversation first, beyond a limit", () => {
    const interned = new BodyInterner();
    const large = (name: string): JsonObject => body(says(name), says(name.repeat(internedCharsMax / 4)));
    const first = large("1");
    interned.remember(first);
    for (const name of ["2", "3", "4", "5"]) interned.remember(large(name));
    expect(messagesOf(interned.reuseKnown(large("1")))[1]).not.toBe(messagesOf(first)[1]);
    const last = large("5");
    expect(messagesOf(interned.reuseKnown(last))[1]).not.toBe(messagesOf(last)[1]);
  });

  it.each<[string, Json]>([
    ["no object", 3],
    ["no messages", {}],
    ["messages that are none", { messages: "x" }],
    ["an empty list", { messages: [] }],
    ["a message that is none", { messages: [null, 5] }],
  ])("a body with %s passes as it is", (_, odd) => {
    const interned = new BodyInterner();
    interned.remember(odd);
    expect(interned.reuseKnown(odd)).toEqual(odd);
  });
});
