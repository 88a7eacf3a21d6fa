import { describe, expect, it } from "vitest";
import { tracedValueCharsMax } from "../limits.ts";
import { blockValue, cutForTrace } from "./trace-writer.ts";

const marker = { cache_control: { type: "ephemeral" } };
const result = { type: "tool_result", tool_use_id: "t", content: [{ type: "text", text: "r", ...marker }], ...marker };
const body = {
  tools: [{ name: "read", input_schema: {}, ...marker }],
  system: "You help.",
  messages: [
    { role: "user", content: "hello" },
    { role: "user", content: [{ type: "text", text: "one", citations: undefined, ...marker }, result] },
  ],
};

describe("blockValue", () => {
  it.each([
    ["tools.0", { name: "read", input_schema: {} }],
    ["system.0", { type: "text", text: "You help." }],
    ["messages.0.content.0", { type: "text", text: "hello" }],
    ["messages.0.content", { type: "text", text: "hello" }],
    ["messages.1.content.0", { type: "text", text: "one" }],
    ["messages.1.content.1", { type: "tool_result", tool_use_id: "t", content: [{ type: "text", text: "r" }] }],
    ["messages.7.content.0", null],
    ["constructor.name", null],
  ])("finds what stands at %s, without its marker", (path, value) => {
    expect(blockValue(body, path)).toStrictEqual(value);
  });
});

describe("tracedValue", () => {
  it("keeps a value whole up to the limit and beyond it the beginning of its JSON", () => {
    const fits = "x".repeat(tracedValueCharsMax - 2);
    expect(cutForTrace(fits)).toEqual({ value: fits });
    expect(cutForTrace(`${fits}x`)).toEqual({ value: `"${fits}x`, cut: { ofChars: tracedValueCharsMax + 1 } });
  });
});
