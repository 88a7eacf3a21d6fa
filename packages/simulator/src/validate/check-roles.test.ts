import { describe, expect, it } from "vitest";
import { holdRules } from "../../../../test/fixture/rule-rows.ts";
import {
  call,
  judged,
  models,
  result,
  says,
  searched,
  searches,
  system,
  text,
  thinking,
  user,
} from "../../../../test/fixture/wire-request.ts";
import { messagesMax } from "../limits.ts";

const hello = user(text("hello"));
const nonEmpty = "all messages must have non-empty content except for the optional final assistant message";
const image = { type: "image", source: { type: "url", url: "https://a.b/c.png" } };

describe("roles and blocks in their turn", () => {
  holdRules([
    {
      rule: "there is a message",
      refused: { messages: [] },
      message: "messages: at least one message is required",
      allowed: { messages: [hello] },
    },
    {
      rule: "the user begins",
      refused: { messages: [says(text("hi")), hello] },
      message: 'messages: first message must use the "user" role',
      allowed: { messages: [hello, hello, says(text("hi")), says(text("again")), hello] },
    },
    {
      rule: "no system message comes first",
      refused: { messages: [system(text("be brief")), hello] },
      on: { model: models.new },
      message: 'messages: first message must use the "user" role',
      allowed: { messages: [hello, system(text("be brief"))] },
    },
    {
      rule: "results are the user's",
      refused: { messages: [hello, says(result("x")), hello] },
      message: "messages.1.content.0: `tool_result` blocks can only be in `user` messages",
      allowed: { messages: [hello, says(call("x")), user(result("x"))] },
    },
    {
      rule: "calls are the assistant's",
      refused: { messages: [user(text("a"), call("x"))] },
      message: "messages.0.content.1: `tool_use` blocks can only be in `assistant` messages",
      allowed: { messages: [user(text("a"), text("b"))] },
    },
    {
      rule: "images are the user's",
      refused: { messages: [hello, says(image), hello] },
      message: "messages.1.content.0: `image` blocks can only be in `user` messages",
      allowed: { messages: [user(image)] },
    },
    {
      rule: "thinking is the assistant's",
      refused: { messages: [user(thinking(), text("a"))] },
      message: "messages.0.content.0: `thinking` blocks can only be in `assistant` messages",
      allowed: { messages: [hello, says(thinking(), text("a")), hello] },
    },
  ]);

  it("takes as many messages as the limit says and not one more", () => {
    const many = (count: number) => Array.from({ length: count }, () => hello);
    expect(judged({ messages: many(messagesMax) })).toBeUndefined();
    expect(judged({ messages: many(messagesMax + 1) })).toMatchObject({
      status: 400,
      message: "messages: List should have at most 100000 items, not 100001",
    });
  });
});

describe("empty content", () => {
  holdRules([
    {
      rule: "a message has content",
      refused: { messages: [hello, says(), hello] },
      message: `messages.1: ${nonEmpty}`,
      allowed: { messages: [hello, says()] },
    },
    {
      rule: "a text as content is not empty",
      refused: { messages: [{ role: "user", content: "" }] },
      message: `messages.0: ${nonEmpty}`,
      allowed: { messages: [hello, { role: "assistant", content: "" }] },
    },
    {
      rule: "a text as content has something visible",
      refused: { messages: [{ role: "user", content: " \n" }] },
      message: "messages.0.content: text content blocks must contain non-whitespace text",
      allowed: { messages: [{ role: "user", content: " \n." }] },
    },
    {
      rule: "a text block is not empty",
      refused: { messages: [user(text(""))] },
      message: "messages.0.content.0.text: text content blocks must be non-empty",
      allowed: { messages: [user(text("."))] },
    },
    {
      rule: "a text block has something visible",
      refused: { messages: [user(text("a"), text("\t "))] },
      message: "messages.0.content.1.text: text content blocks must contain non-whitespace text",
      allowed: { messages: [user(text("a"), text("\t b"))] },
    },
    {
      rule: "a text in the system prompt is not empty",
      refused: { system: [text("")] },
      message: "system.0.text: text content blocks must be non-empty",
      allowed: { system: "" },
    },
    {
      rule: "a text in a result is not empty",
      refused: { messages: [hello, says(call("x")), user(result("x", [text("")]))] },
      message: "messages.2.content.0.tool_result.content.0.text: text content blocks must be non-empty",
      allowed: { messages: [hello, says(call("x")), user(result("x", ""))] },
    },
    {
      rule: "an error says something",
      refused: { messages: [hello, says(call("x")), user(result("x", "", { is_error: true }))] },
      message: "messages.2.content.0.tool_result: content cannot be empty if `is_error` is true",
      allowed: { messages: [hello, says(call("x")), user(result("x", "no", { is_error: true }))] },
    },
  ]);
});

describe("prefill", () => {
  const prefill = { messages: [hello, says(text("So"))] };
  const paused = { messages: [hello, says(searches("srvtoolu_1"))] };
  holdRules([
    {
      rule: "is refused by models since 4.6",
      refused: prefill,
      on: { model: models.between },
      message: "This model does not support assistant message prefill. The conversation must end with a user message.",
      allowed: prefill,
      allowedOn: { model: models.old },
    },
    {
      rule: "does not end in white space",
      refused: { messages: [hello, says(text("So "))] },
      message: "messages: final assistant content cannot end with trailing whitespace",
      allowed: { messages: [hello, says(text("So ")), hello] },
    },
    {
      rule: "goes not with thinking",
      refused: { ...prefill, thinking: { type: "enabled", budget_tokens: 1_024 } },
      message: "messages: Assistant message prefill is not supported while thinking is enabled.",
      allowed: { ...prefill, thinking: { type: "disabled" } },
    },
  ]);

  it("is not what a paused turn is: that may go on, on every model", () => {
    expect(judged(paused, { model: models.new })).toBeUndefined();
    expect(
      judged({ messages: [hello, says(searches("srvtoolu_1"), searched("srvtoolu_1"))] }, { model: models.new }),
    ).toBeUndefined();
  });
});
