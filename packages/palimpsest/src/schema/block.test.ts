import { describe, expect, it } from "vitest";
import { parseBlock } from "./block.ts";
import type { Json } from "./json.ts";

describe("a block", () => {
  it.each<[string, Json]>([
    ["text", { type: "text", text: "" }],
    ["thinking", { type: "thinking", thinking: "", signature: "" }],
    ["redacted thinking", { type: "redacted_thinking", data: "x" }],
    ["a call", { type: "tool_use", id: "a", name: "Read", input: {} }],
    ["a result without content", { type: "tool_result", tool_use_id: "a" }],
    ["a result of text", { type: "tool_result", tool_use_id: "a", content: "" }],
    ["a result of blocks", { type: "tool_result", tool_use_id: "a", content: [{ type: "text", text: "x" }] }],
    ["an image", { type: "image", source: {} }],
    ["a server tool's call", { type: "server_tool_use", id: "s" }],
  ])("of known form (%s) is the very object that came in, unknown fields included", (_, value) => {
    const block = { ...(value as object), field_of_next_year: [1] } as Json;
    expect(parseBlock(block)).toBe(block);
  });

  it.each<[string, Json]>([
    ["text without text", { type: "text" }],
    ["thinking without a signature", { type: "thinking", thinking: "x" }],
    ["a call whose input is no object", { type: "tool_use", id: "a", name: "Read", input: "{}" }],
    ["a call without an id", { type: "tool_use", name: "Read", input: {} }],
    ["a result whose content is a number", { type: "tool_result", tool_use_id: "a", content: 1 }],
    ["a result with a bare string among its blocks", { type: "tool_result", tool_use_id: "a", content: ["x"] }],
    ["a type of next year", { type: "hologram" }],
    ["the name of an object's own method", { type: "toString" }],
    ["no type", { text: "x" }],
    ["a bare string", "x"],
    ["null", null],
  ])("that is %s is kept as unknown", (_, value) => {
    expect(parseBlock(value)).toEqual({ type: "unknown", was: value });
  });
});
