import { describe, expect, it } from "vitest";
import { holdRules } from "../../../../test/fixture/rule-rows.ts";
import { judged, marked, models, says, system, text, tool, user } from "../../../../test/fixture/wire-request.ts";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { availableToolsCharsMax, availableToolsMax } from "../limits.ts";

const hello = user(text("hello"));
const hi = says(text("hi"));
const byName = { model: models.new, betas: ["mid-conversation-tool-changes-2026-07-01"] };
const inline = { model: models.new, betas: ["inline-tools-2026-09-15"] };

const add = (name: string): JsonObject => ({ type: "tool_addition", tool: { type: "tool_reference", name } });
const define = (definition: JsonObject): JsonObject => ({
  type: "tool_addition",
  tool: { type: "tool_definition", definition },
});
const remove = (name: string): JsonObject => ({ type: "tool_removal", tool: { type: "tool_reference", name } });

const a = tool("a");
/** Tools `a`, changed once. */
const changed = (...changes: JsonObject[]): JsonObject => ({ tools: [a], messages: [hello, system(...changes)] });
const at = "messages.1.content.0";

describe("changes of tools inside a conversation", () => {
  holdRules([
    {
      rule: "need a beta",
      refused: changed(remove("a")),
      on: { model: models.new },
      message: `${at}: Input tag 'tool_removal' found using 'type' does not match any of the expected tags`,
      allowed: changed(remove("a")),
      allowedOn: byName,
    },
    {
      rule: "bring definitions only with a beta of their own",
      refused: changed(define(tool("b"))),
      on: byName,
      message: `${at}.tool: Input tag 'tool_definition' found using 'type' does not match any of the expected tags: 'tool_reference', 'mcp_tool_reference', 'mcp_toolset_reference'`,
      allowed: changed(define(tool("b"))),
      allowedOn: inline,
    },
    {
      rule: "stand in system messages",
      refused: { tools: [a], messages: [user(remove("a"), text("hello"))] },
      on: byName,
      message: "messages.0.content.0: `tool_removal` blocks can only be in `system` messages",
      allowed: changed(text("less"), remove("a")),
    },
    {
      rule: "do not remove what was never there",
      refused: changed(remove("b")),
      on: byName,
      message: `${at}.tool: tool 'b' is not defined at this point of the conversation`,
      errorCode: "tool_reference_unresolved",
      allowed: changed(remove("a")),
    },
    {
      rule: "do not add what is defined only later",
      refused: { messages: [hello, system(add("b")), hi, hello, system(define(tool("b")))] },
      on: inline,
      message: `${at}.tool: tool 'b' is not defined at this point of the conversation`,
      errorCode: "tool_reference_unresolved",
      allowed: { messages: [hello, system(define(tool("b")), remove("b")), hi, hello, system(add("b"))] },
    },
    {
      rule: "add what was removed, and a deferred tool",
      refused: changed(remove("a"), add("a"), add("late")),
      on: byName,
      message: "messages.1.content.2.tool: tool 'late' is not defined at this point of the conversation",
      errorCode: "tool_reference_unresolved",
      allowed: {
        ...changed(remove("a"), add("a"), add("late")),
        tools: [a, tool("late", { defer_loading: true })],
      },
    },
    {
      rule: "name no MCP server: there is none",
      refused: changed({ type: "tool_addition", tool: { type: "mcp_toolset_reference", server_name: "s" } }),
      on: inline,
      message: `${at}.tool: MCP server 's' is not defined: this simulator does not connect to MCP servers`,
      errorCode: "tool_reference_unresolved",
      allowed: changed(add("a")),
    },
    {
      rule: "name no tool of an MCP server",
      refused: changed({ type: "tool_removal", tool: { type: "mcp_tool_reference", server_name: "s", name: "a" } }),
      on: byName,
      message: `${at}.tool: MCP server 's' is not defined: this simulator does not connect to MCP servers`,
      errorCode: "tool_reference_unresolved",
      allowed: changed(remove("a")),
    },
    {
      rule: "define what a tool of `tools` would have to be too",
      refused: changed(define(tool("read file"))),
      on: inline,
      message: `${at}.tool.definition.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`,
      allowed: changed(define(tool("read_file"))),
    },
    {
      rule: "define tools with a schema of an object",
      refused: changed(define({ name: "b", input_schema: { type: "string" } })),
      on: inline,
      message: `${at}.tool.definition.custom.input_schema.type: Input should be 'object'`,
      allowed: changed(define({ name: "b", input_schema: { type: "object" } })),
    },
    {
      rule: "replace a tool of the same kind, but not one of another",
      refused: { ...changed(define(tool("bash"))), tools: [{ type: "bash_20250124", name: "bash" }] },
      on: inline,
      message: `${at}.tool: the name 'bash' is taken by an available tool of another kind`,
      errorCode: "tool_name_conflict",
      allowed: { ...changed(define(tool("bash"))), tools: [tool("bash", { description: "old" })] },
    },
    {
      rule: "may take a name that is free again",
      refused: { ...changed(define({ type: "bash_20250124", name: "bash" })), tools: [tool("bash")] },
      on: inline,
      message: `${at}.tool: the name 'bash' is taken by an available tool of another kind`,
      errorCode: "tool_name_conflict",
      allowed: { ...changed(remove("bash"), define({ type: "bash_20250124", name: "bash" })), tools: [tool("bash")] },
    },
    {
      rule: "carry markers that count like others, also on a definition",
      refused: {
        tools: [tool("a", marked())],
        messages: [hello, system(define(tool("b", marked())), define(tool("c", marked())))],
        system: [text("s", marked()), text("t", marked())],
      },
      on: inline,
      message: "A maximum of 4 blocks with cache_control may be provided. Found 5.",
      allowed: {
        tools: [tool("a", marked())],
        messages: [hello, system(define(tool("b", marked())), define(tool("c", marked())))],
        system: [text("s", marked())],
      },
    },
  ]);

  it("may make available as many tools as the limit says and not one more", () => {
    const declared = Array.from({ length: availableToolsMax - 1 }, (_, n) => tool(`t${n}`));
    const offering = (...names: string[]): JsonObject => ({
      tools: declared,
      messages: [hello, system(...names.map((name) => define(tool(name))))],
    });
    expect(judged(offering("x"), inline)).toBeUndefined();
    expect(judged(offering("x", "y"), inline)).toMatchObject({
      errorCode: "available_tools_limit_exceeded",
      message: `messages.1: at most ${availableToolsMax} tools can be available at once, not ${availableToolsMax + 1}`,
    });
  });

  it("may make available as much as the limit says and no more, whatever was removed before", () => {
    const big = (name: string): JsonObject => tool(name, { description: "x".repeat(availableToolsCharsMax / 2) });
    expect(judged(changed(define(big("x")), remove("x"), define(big("y"))), inline)).toBeUndefined();
    expect(judged(changed(define(big("x")), define(big("y"))), inline)).toMatchObject({
      errorCode: "available_tools_limit_exceeded",
    });
  });
});

describe("tool_choice where tools change", () => {
  const forced = { tool_choice: { type: "tool", name: "a" } };
  holdRules([
    {
      rule: "names a tool that is there in the end",
      refused: { ...changed(define(tool("b")), remove("a")), ...forced },
      on: inline,
      message: "tool_choice: Tool 'a' not found in provided tools",
      allowed: { ...changed(remove("a"), add("a")), ...forced },
    },
    {
      rule: "may name one that only a message defines",
      refused: { messages: [hello], tool_choice: { type: "tool", name: "b" } },
      on: inline,
      message: "tool_choice: `tool_choice` may only be specified while providing `tools`",
      allowed: { messages: [hello, system(define(tool("b")))], tool_choice: { type: "tool", name: "b" } },
    },
    {
      rule: "forces nothing where every tool was removed",
      refused: { ...changed(remove("a")), tool_choice: { type: "any" } },
      on: byName,
      message: "tool_choice: `tool_choice` may only be specified while providing `tools`",
      allowed: { ...changed(remove("a")), tool_choice: { type: "auto" } },
    },
  ]);
});
