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
  user,
} from "../../../../test/fixture/wire-request.ts";

const hello = user(text("hello"));
const unanswered = (at: number, ids: string): string =>
  `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`;
const uncalled = (path: string, id: string): string =>
  `${path}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`;

describe("calls and results", () => {
  holdRules([
    {
      rule: "every call is answered",
      refused: { messages: [hello, says(text("a")), hello, says(call("x"), call("y"), call("z")), user(result("y"))] },
      message: unanswered(3, "x, z"),
      allowed: {
        messages: [hello, says(call("x"), call("y"), call("z")), user(result("z"), result("y"), result("x"))],
      },
    },
    {
      rule: "a call at the very end is not answered",
      refused: { messages: [hello, says(call("x"))] },
      message: unanswered(1, "x"),
      allowed: { messages: [hello, says(call("x")), user(result("x"))] },
    },
    {
      rule: "a call is answered in the next turn, not later",
      refused: { messages: [hello, says(call("x")), hello, says(text("a")), user(result("x"))] },
      message: unanswered(1, "x"),
      allowed: { messages: [hello, says(text("a")), says(call("x")), user(result("x")), says(text("a")), hello] },
    },
    {
      rule: "results come before other content",
      refused: { messages: [hello, says(call("x")), user(text("well"), result("x"))] },
      message: unanswered(1, "x"),
      allowed: { messages: [hello, says(call("x")), user(result("x"), text("well"))] },
    },
    {
      rule: "messages of one role are one turn: words in a message before the results stand before them",
      refused: { messages: [hello, says(call("x")), hello, user(result("x"))] },
      message: unanswered(1, "x"),
      allowed: { messages: [hello, says(call("x")), says(call("y")), user(result("y")), user(result("x")), hello] },
    },
    {
      rule: "a result answers a call",
      refused: { messages: [hello, says(text("a")), user(result("x"))] },
      message: uncalled("messages.2.content.0", "x"),
      allowed: { messages: [hello, says(text("a"), call("x")), user(result("x"))] },
    },
    {
      rule: "a conversation does not begin with a result",
      refused: { messages: [user(result("x"))] },
      message: uncalled("messages.0.content.0", "x"),
      allowed: { messages: [hello] },
    },
    {
      rule: "a call is answered once",
      refused: { messages: [hello, says(call("x")), user(result("x"), result("x"))] },
      message:
        "messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with id: x",
      allowed: { messages: [hello, says(call("x"), call("y")), user(result("x"), result("y"))] },
    },
    {
      rule: "ids are unique in the whole conversation",
      refused: { messages: [hello, says(call("x")), user(result("x")), says(text("a"), call("x")), user(result("x"))] },
      message: "messages.3.content.1: `tool_use` ids must be unique",
      allowed: { messages: [hello, says(call("x")), user(result("x")), says(text("a"), call("y")), user(result("y"))] },
    },
    {
      rule: "ids are made of letters, digits, _ and -",
      refused: { messages: [hello, says(call("a:b")), user(result("a:b"))] },
      message: "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
      allowed: { messages: [hello, says(call("a-b_1")), user(result("a-b_1"))] },
    },
    {
      rule: "results name ids of the same form",
      refused: { messages: [hello, says(call("x")), user(result("x"), result("x!"))] },
      message: "messages.2.content.1.tool_result.tool_use_id: String should match pattern '^[a-zA-Z0-9_-]+$'",
      allowed: { messages: [hello, says(call("x")), user(result("x"))] },
    },
  ]);

  it("need no tools: old calls may stay when their tools are gone", () => {
    expect(judged({ messages: [hello, says(call("x")), user(result("x"))], tools: [] })).toBeUndefined();
  });

  it("are paired alike in a count", () => {
    const messages = [hello, says(call("x")), hello];
    expect(judged({ messages }, { endpoint: "count_tokens" })).toMatchObject({ message: unanswered(1, "x") });
  });
});

describe("server tools", () => {
  const open =
    "`web_search` tool use with id `srvtoolu_1` was found without a corresponding `web_search_tool_result` block";
  holdRules([
    {
      rule: "are answered in their own turn",
      refused: { messages: [hello, says(searches("srvtoolu_1")), hello, says(text("a")), hello] },
      message: `messages.1: ${open}`,
      allowed: { messages: [hello, says(searches("srvtoolu_1"), searched("srvtoolu_1")), hello] },
    },
    {
      rule: "may wait only at the end of the last assistant turn",
      refused: { messages: [hello, says(searches("srvtoolu_1"), text("a")), hello] },
      message: `messages.1: ${open}`,
      allowed: { messages: [hello, says(text("a"), searches("srvtoolu_1"), call("x")), user(result("x"))] },
    },
    {
      rule: "do not wait while a person speaks",
      refused: { messages: [hello, says(text("a"), searches("srvtoolu_1")), hello] },
      message: `messages.1: ${open}`,
      allowed: { messages: [hello, says(text("a"), searches("srvtoolu_1"))] },
    },
    {
      rule: "give no result without a call before it",
      refused: { messages: [hello, says(searched("srvtoolu_1"), searches("srvtoolu_1")), hello] },
      message:
        "messages.1.content.0: unexpected `tool_use_id` found in `web_search_tool_result` blocks: srvtoolu_1. Each `web_search_tool_result` block must have a corresponding `server_tool_use` block before it.",
      allowed: { messages: [hello, says(searches("srvtoolu_1")), says(searched("srvtoolu_1")), hello] },
    },
    {
      rule: "have ids of their own form",
      refused: { messages: [hello, says(searches("toolu_1"), searched("toolu_1")), hello] },
      message: "messages.1.content.0.server_tool_use.id: String should match pattern '^srvtoolu_[a-zA-Z0-9_]+$'",
      allowed: { messages: [hello, says(searches("srvtoolu_1"), searched("srvtoolu_1")), hello] },
    },
    {
      rule: "answer before a system message goes on",
      refused: { messages: [hello, says(searches("srvtoolu_1")), system(text("a"))] },
      on: { model: models.new },
      message:
        "messages.2: a `system` message must directly follow a `user` turn or an `assistant` turn that ends with a server tool result",
      allowed: { messages: [hello, says(searches("srvtoolu_1"), searched("srvtoolu_1")), system(text("a"))] },
    },
  ]);
});
