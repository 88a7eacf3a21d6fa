import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../schema/json.ts";
import { chatRequest } from "./chat-request.ts";

const base: JsonObject = { model: "gpt-x", max_tokens: 100, messages: [{ role: "user", content: "Hello" }] };
const translated = (more: JsonObject): JsonObject => chatRequest({ ...base, ...more }, { outputLimit: "max_tokens" });
const messagesOf = (...messages: JsonObject[]) => translated({ messages })["messages"];

const picture = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };
const pictureUrl = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };

describe("a request as chat completions", () => {
  it("has the model, the limit, and asks for a stream with figures", () => {
    expect(translated({})).toEqual({
      model: "gpt-x",
      messages: [{ role: "user", content: "Hello" }],
      max_tokens: 100,
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it("limits the reply in the field that the server knows", () => {
    const chat = chatRequest(base, { outputLimit: "max_completion_tokens" });
    expect([chat["max_completion_tokens"], chat["max_tokens"]]).toEqual([100, undefined]);
  });

  it("keeps sampling and stop sequences, and leaves out what has no place there", () => {
    const chat = translated({
      temperature: 0.2,
      top_p: 0.9,
      stop_sequences: ["END"],
      thinking: { type: "adaptive" },
      metadata: { user_id: "u" },
      context_management: { edits: [] },
    });
    expect(chat).toMatchObject({ temperature: 0.2, top_p: 0.9, stop: ["END"] });
    expect(Object.keys(chat).filter((key) => ["thinking", "metadata", "context_management"].includes(key))).toEqual([]);
  });

  it.each<[string, JsonObject["system"] & {}, string]>([
    ["a text", "Be brief.", "Be brief."],
    [
      "blocks",
      [
        { type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } },
        { type: "text", text: "Be kind." },
      ],
      "Be brief.\n\nBe kind.",
    ],
  ])("puts the system prompt first: %s", (_, system, content) => {
    expect(translated({ system })["messages"]).toEqual([
      { role: "system", content },
      { role: "user", content: "Hello" },
    ]);
  });

  it("makes tools functions, without those that the other provider runs itself", () => {
    const schema = { type: "object", properties: { path: { type: "string" } } };
    const tools = [
      { name: "read", description: "Reads", input_schema: schema, cache_control: { type: "ephemeral" } },
      { type: "web_search_20250305", name: "web_search" },
      { type: "custom", name: "list", input_schema: { type: "object" } },
    ];
    expect(translated({ tools })["tools"]).toEqual([
      { type: "function", function: { name: "read", description: "Reads", parameters: schema } },
      { type: "function", function: { name: "list", parameters: { type: "object" } } },
    ]);
  });

  it.each<[JsonObject, JsonObject]>([
    [{ type: "auto" }, {}],
    [{ type: "any" }, { tool_choice: "required" }],
    [{ type: "none" }, { tool_choice: "none" }],
    [{ type: "tool", name: "read" }, { tool_choice: { type: "function", function: { name: "read" } } }],
    [{ type: "auto", disable_parallel_tool_use: true }, { parallel_tool_calls: false }],
  ])("translates the choice of tools %o", (tool_choice, expected) => {
    const chat = translated({ tools: [{ name: "read", input_schema: { type: "object" } }], tool_choice });
    const { tool_choice: choice, parallel_tool_calls: parallel } = chat;
    expect({
      ...(choice === undefined ? {} : { tool_choice: choice }),
      ...(parallel === undefined ? {} : { parallel_tool_calls: parallel }),
    }).toEqual(expected);
  });

  it("keeps calls and their results together, results first, and drops thinking", () => {
    const sent = messagesOf(
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Hm", signature: "s" },
          { type: "redacted_thinking", data: "x" },
          { type: "text", text: "I look." },
          { type: "tool_use", id: "call_1", name: "read", input: { path: "a" } },
          { type: "tool_use", id: "call_2", name: "read", input: {} },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "call_1", content: "export {}" },
          { type: "tool_result", tool_use_id: "call_2", content: [{ type: "text", text: "no path" }], is_error: true },
          { type: "text", text: "Go on" },
        ],
      },
    );
    expect(sent).toEqual([
      {
        role: "assistant",
        content: "I look.",
        tool_calls: [
          { id: "call_1", type: "function", function: { name: "read", arguments: '{"path":"a"}' } },
          { id: "call_2", type: "function", function: { name: "read", arguments: "{}" } },
        ],
      },
      { role: "tool", tool_call_id: "call_1", content: "export {}" },
      { role: "tool", tool_call_id: "call_2", content: "Error: no path" },
      { role: "user", content: "Go on" },
    ]);
  });

  it("moves pictures of a result behind the results", () => {
    const result = { type: "tool_result", tool_use_id: "call_1", content: [{ type: "text", text: "Seen" }, picture] };
    expect(messagesOf({ role: "user", content: [result, { type: "text", text: "What is it?" }] })).toEqual([
      { role: "tool", tool_call_id: "call_1", content: "Seen" },
      { role: "user", content: [pictureUrl, { type: "text", text: "What is it?" }] },
    ]);
  });

  it.each<[string, JsonObject, JsonObject]>([
    ["a picture", picture, pictureUrl],
    [
      "a picture elsewhere",
      { type: "image", source: { type: "url", url: "https://x/y.png" } },
      { type: "image_url", image_url: { url: "https://x/y.png" } },
    ],
    [
      "a document",
      { type: "document", title: "a.pdf", source: { type: "base64", media_type: "application/pdf", data: "AAAA" } },
      { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AAAA" } },
    ],
    [
      "a document of text",
      { type: "document", source: { type: "text", media_type: "text/plain", data: "Ink" } },
      { type: "text", text: "Ink" },
    ],
  ])("sends %s", (_, block, part) => {
    const question = { type: "text", text: "?" };
    expect(messagesOf({ role: "user", content: [block, question] })).toEqual([
      { role: "user", content: [part, question] },
    ]);
  });

  it("sends no empty turn where all was thinking, and a call without a word as null", () => {
    const thinking = { type: "thinking", thinking: "Hm", signature: "s" };
    const call = { type: "tool_use", id: "call_1", name: "read", input: {} };
    expect(messagesOf({ role: "assistant", content: [thinking] })).toEqual([]);
    expect(messagesOf({ role: "assistant", content: [call] })).toMatchObject([{ role: "assistant", content: null }]);
  });

  it("keeps a message of the system and the summary of a compaction in their places", () => {
    const sent = messagesOf(
      { role: "assistant", content: [{ type: "compaction", content: "So far: ink." }] },
      { role: "user", content: "Go on" },
      { role: "system", content: "The mode changed." },
    );
    expect(sent).toEqual([
      { role: "assistant", content: "So far: ink." },
      { role: "user", content: "Go on" },
      { role: "system", content: "The mode changed." },
    ]);
  });
});
