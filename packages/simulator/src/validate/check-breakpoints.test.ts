import { describe, expect, it } from "vitest";
import { holdRules } from "../../../../test/fixture/rule-rows.ts";
import {
  call,
  judged,
  marked,
  result,
  says,
  text,
  thinking,
  tool,
  user,
} from "../../../../test/fixture/wire-request.ts";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { automaticBreakpoint } from "./check-breakpoints.ts";
import { RequestShapes } from "./request-shapes.ts";

const hello = user(text("hello"));
const texts = (count: number): JsonObject => user(...Array.from({ length: count }, () => text("a", marked())));
const late =
  "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.";
const sub = "cache_control cannot be set on sub-content: mark the block that holds it";
const document = (content: JsonObject[], more: JsonObject = {}): JsonObject => ({
  type: "document",
  source: { type: "content", content },
  ...more,
});
const found = (content: JsonObject[], more: JsonObject = {}): JsonObject => ({
  type: "search_result",
  source: "s",
  title: "t",
  content,
  ...more,
});
const cited: JsonObject = {
  type: "page_location",
  cited_text: "a",
  document_index: 0,
  start_page_number: 1,
  end_page_number: 2,
};
const tooMany = "A maximum of 4 blocks with cache_control may be provided. Found 5.";
const automatic = (ttl?: "5m" | "1h"): JsonObject => marked(ttl);

describe("breakpoints", () => {
  holdRules([
    {
      rule: "are at most four",
      refused: { messages: [texts(5)] },
      message: tooMany,
      allowed: { messages: [texts(4)] },
    },
    {
      rule: "are counted over tools, system and messages",
      refused: {
        tools: [tool("a", marked())],
        system: [text("a", marked())],
        messages: [texts(2), says(text("a", marked())), hello],
      },
      message: tooMany,
      allowed: {
        tools: [tool("a", marked())],
        system: [text("a", marked())],
        messages: [texts(1), says(text("a", marked())), hello],
      },
    },
    {
      rule: "are counted on the parts of a result too",
      refused: { messages: [texts(3), says(call("x")), user(result("x", [text("a", marked())], marked()))] },
      message: tooMany,
      allowed: { messages: [texts(3), says(call("x")), user(result("x", [text("a", marked())]))] },
    },
    {
      rule: "are not on thinking",
      refused: { messages: [hello, says(thinking(marked()), text("a")), hello] },
      message: "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted",
      allowed: { messages: [hello, says(thinking({ cache_control: null }), text("a", marked())), hello] },
    },
    {
      rule: "are not on redacted thinking",
      refused: { messages: [hello, says({ type: "redacted_thinking", data: "x", ...marked() }, text("a")), hello] },
      message: "messages.1.content.0.redacted_thinking.cache_control: Extra inputs are not permitted",
      allowed: { messages: [hello, says({ type: "redacted_thinking", data: "x" }, text("a")), hello] },
    },
    {
      rule: "are not on an empty text",
      refused: { messages: [user(text("", marked()))] },
      message: "messages.0.content.0.text: cache_control cannot be set for empty text blocks",
      allowed: { messages: [user(text(".", marked()))] },
    },
    {
      rule: "are not on an empty text of the system prompt",
      refused: { system: [text("", marked())] },
      message: "system.0: cache_control cannot be set for empty text blocks",
      allowed: { system: [text(".", marked())] },
    },
    {
      rule: "are not on an empty text inside a result",
      refused: { messages: [hello, says(call("x")), user(result("x", [text("a"), text("", marked())]))] },
      message: "messages.2.content.0.tool_result.content.1.text: cache_control cannot be set for empty text blocks",
      allowed: { messages: [hello, says(call("x")), user(result("x", [text("a"), text(".", marked())]))] },
    },
    {
      rule: "are not on what a document is made of",
      refused: { messages: [user(document([text("a"), text("b", marked())]))] },
      message: `messages.0.content.0.document.source.content.1.cache_control: ${sub}`,
      allowed: { messages: [user(document([text("a"), text("b", { cache_control: null })], marked()))] },
    },
    {
      rule: "are not on what a search result is made of",
      refused: { messages: [user(found([text("a", marked())]))] },
      message: `messages.0.content.0.search_result.content.0.cache_control: ${sub}`,
      allowed: { messages: [user(found([text("a")], marked()))] },
    },
    {
      rule: "are not on what a part of a result is made of",
      refused: { messages: [hello, says(call("x")), user(result("x", [document([text("a", marked())])]))] },
      message: `messages.2.content.0.tool_result.content.0.document.source.content.0.cache_control: ${sub}`,
      allowed: { messages: [hello, says(call("x")), user(result("x", [document([text("a")], marked())]))] },
    },
    {
      rule: "are not on citations",
      refused: { messages: [hello, says(text("a", { citations: [{ ...cited, ...marked() }] })), hello] },
      message: `messages.1.content.0.text.citations.0.cache_control: ${sub}`,
      allowed: { messages: [hello, says(text("a", { citations: [cited], ...marked() })), hello] },
    },
    {
      rule: "live shorter and shorter inside the messages",
      refused: { messages: [user(text("a", marked()), text("b", marked("1h")))] },
      message: `messages.0.content.1.cache_control.ttl: ${late}`,
      allowed: { messages: [user(text("a", marked("1h")), text("b", marked("5m")))] },
    },
    {
      rule: "live shorter and shorter from tools to system",
      refused: { system: [text("a", marked("1h"))], tools: [tool("a", marked("5m"))] },
      message: `system.0.cache_control.ttl: ${late}`,
      allowed: { system: [text("a", marked("5m"))], tools: [tool("a", marked("1h"))] },
    },
    {
      rule: "live shorter and shorter from system to messages",
      refused: { system: [text("a", marked())], messages: [user(text("a", marked("1h")))] },
      message: `messages.0.content.0.cache_control.ttl: ${late}`,
      allowed: { system: [text("a", marked("1h"))], messages: [user(text("a", marked("1h")))] },
    },
  ]);
});

describe("the automatic breakpoint", () => {
  holdRules([
    {
      rule: "takes one of the four",
      refused: { messages: [texts(4), says(text("a")), hello], ...automatic() },
      message: tooMany,
      allowed: { messages: [texts(3), says(text("a")), hello], ...automatic() },
    },
    {
      rule: "changes nothing on a block that is marked alike, and refuses one that is marked otherwise",
      refused: { messages: [user(text("a", marked("1h")))], ...automatic("5m") },
      message:
        "cache_control.ttl: the last cacheable block already has a breakpoint of another lifetime: ttl='1h' at messages.0.content.0",
      allowed: { messages: [texts(4)], ...automatic() },
    },
    {
      rule: "lives no longer than one before it",
      refused: { system: [text("a", marked("5m"))], ...automatic("1h") },
      message: `cache_control.ttl: ${late}`,
      allowed: { system: [text("a", marked("1h"))], ...automatic("1h") },
    },
  ]);

  const landing = (messages: JsonObject[], more: JsonObject = automatic()): string | undefined => {
    const shape = new RequestShapes().messages({ model: "m", max_tokens: 1, messages, ...more });
    if (shape.kind === "refused") throw new Error(shape.message);
    return automaticBreakpoint(shape.request);
  };

  it.each<[string, JsonObject[], string | undefined]>([
    ["the last block", [hello, says(text("a")), user(text("b"), text("c"))], "messages.2.content.1"],
    ["content that is a text", [hello, { role: "assistant", content: "a" }], "messages.1.content.0"],
    ["what stands before thinking", [hello, says(text("a"), thinking())], "messages.1.content.0"],
    ["an earlier message", [hello, says(thinking())], "messages.0.content.0"],
    ["what stands before an empty text", [user(text("a"), text(""))], "messages.0.content.0"],
    ["what stands before an empty message", [hello, { role: "assistant", content: "" }], "messages.0.content.0"],
    ["nothing where nothing can be cached", [user(text(""))], undefined],
  ])("lands on %s", (_where, messages, path) => {
    expect(landing(messages)).toBe(path);
  });

  it("is there only where it is asked for", () => {
    expect(landing([hello], {})).toBeUndefined();
    expect(landing([hello], { cache_control: null })).toBeUndefined();
    expect(judged({ ...automatic("1h") })).toBeUndefined();
  });
});
