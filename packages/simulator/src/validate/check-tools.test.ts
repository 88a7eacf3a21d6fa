import { describe, expect, it } from "vitest";
import { holdRules } from "../../../../test/fixture/rule-rows.ts";
import { judged, marked, models, tool } from "../../../../test/fixture/wire-request.ts";
import type { Json, JsonObject } from "palimpsest/internal/schema/json";

const withSchema = (input_schema: JsonObject): JsonObject => ({ tools: [{ name: "a", input_schema }] });
const withProperty = (schema: Json): JsonObject => withSchema({ type: "object", properties: { p: schema } });
const invalidSchema =
  "tools.0.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12).";
const nameForm = "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'";

describe("tools", () => {
  holdRules([
    {
      rule: "have names of letters, digits, _ and -",
      refused: { tools: [tool("ok"), tool("read file")] },
      message: `tools.1.custom.name: ${nameForm}`,
      allowed: { tools: [tool("ok"), tool("read-file_2")] },
    },
    {
      rule: "have names of at most 128 characters",
      refused: { tools: [tool("x".repeat(129))] },
      message: `tools.0.custom.name: ${nameForm}`,
      allowed: { tools: [tool("x".repeat(128))] },
    },
    {
      rule: "have names of their own",
      refused: { tools: [tool("bash"), { type: "bash_20250124", name: "bash" }] },
      message: "tools: Tool names must be unique.",
      errorCode: "tool_name_conflict",
      allowed: { tools: [tool("bash"), tool("Bash"), { type: "memory_20250818", name: "memory" }] },
    },
    {
      rule: "have a schema with a type",
      refused: withSchema({ properties: {} }),
      message: "tools.0.custom.input_schema.type: Field required",
      allowed: withSchema({ type: "object" }),
    },
    {
      rule: "have a schema of an object",
      refused: withSchema({ type: "string" }),
      message: "tools.0.custom.input_schema.type: Input should be 'object'",
      allowed: withSchema({ type: "object", additionalProperties: false }),
    },
    {
      rule: "have no alternatives at the top of a schema",
      refused: withSchema({ type: "object", anyOf: [{ type: "object" }] }),
      message: "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level",
      allowed: withProperty({ anyOf: [{ type: "string" }, { type: "null" }] }),
    },
    {
      rule: "are called memory where they are the provider's memory tool",
      refused: { tools: [{ type: "memory_20250818", name: "notes" }] },
      message: "tools.0.memory_20250818.name: Input should be 'memory'",
      allowed: { tools: [{ type: "memory_20250818", name: "memory", ...marked() }] },
    },
    {
      rule: "have a name where they are the provider's memory tool",
      refused: { tools: [{ type: "memory_20250818" }] },
      message: "tools.0.memory_20250818.name: Field required",
      allowed: { tools: [{ type: "memory_20250818", name: "memory", defer_loading: true }] },
    },
    {
      rule: "are not deferred and marked at once",
      refused: { tools: [tool("a", { defer_loading: true, ...marked() })] },
      message:
        "tools.0: Tool 'a' cannot have both defer_loading=true and cache_control set. Tools with defer_loading cannot use prompt caching.",
      allowed: { tools: [tool("a", marked()), tool("b", { defer_loading: true })] },
    },
  ]);

  it.each<[string, JsonObject, JsonObject]>([
    ["an unknown type", withProperty({ type: "text" }), withProperty({ type: "string" })],
    [
      "an unknown one of several types",
      withProperty({ type: ["string", "nil"] }),
      withProperty({ type: ["string", "null"] }),
    ],
    [
      "properties that are a list",
      withSchema({ type: "object", properties: [] }),
      withSchema({ type: "object", properties: {} }),
    ],
    [
      "required that is no list",
      withProperty({ type: "object", required: true }),
      withProperty({ type: "object", required: ["a"] }),
    ],
    [
      "required that lists no names",
      withSchema({ type: "object", required: [1] }),
      withSchema({ type: "object", required: [] }),
    ],
    ["a property that is no schema", withProperty("string"), withProperty(true)],
    [
      "items of an unknown type",
      withProperty({ type: "array", items: { type: "any" } }),
      withProperty({ type: "array", items: {} }),
    ],
    ["no alternative", withProperty({ anyOf: [] }), withProperty({ oneOf: [{ const: 1 }] })],
    [
      "a wrong definition",
      withSchema({ type: "object", $defs: { d: { type: 1 } } }),
      withSchema({ type: "object", $defs: { d: { enum: [1] } } }),
    ],
  ])("have no schema with %s", (_what, refused, allowed) => {
    expect(judged(refused)).toMatchObject({ status: 400, message: invalidSchema });
    expect(judged(allowed)).toBeUndefined();
  });

  it("may nest schemas deeper than the stack", () => {
    let schema: JsonObject = { type: "string" };
    for (let depth = 0; depth < 50_000; depth += 1) schema = { type: "array", items: schema };
    expect(judged(withProperty(schema))).toBeUndefined();
  });
});

describe("tool_choice", () => {
  const tools = [tool("a")];
  holdRules([
    {
      rule: "needs tools",
      refused: { tool_choice: { type: "auto" } },
      message: "tool_choice: `tool_choice` may only be specified while providing `tools`",
      allowed: { tool_choice: { type: "auto" }, tools },
    },
    {
      rule: "names a tool that is there",
      refused: { tools, tool_choice: { type: "tool", name: "b" } },
      message: "tool_choice: Tool 'b' not found in provided tools",
      allowed: { tools, tool_choice: { type: "tool", name: "a" } },
    },
    {
      rule: "forces nothing on models that bind their thinking",
      refused: { tools, tool_choice: { type: "any" } },
      on: { model: models.bound },
      message: "tool_choice: type 'any' is not supported on this model, which chooses tools by itself",
      allowed: { tools, tool_choice: { type: "any" } },
      allowedOn: { model: models.new },
    },
  ]);

  it("may be none or auto on every model", () => {
    for (const type of ["none", "auto"])
      expect(judged({ tools, tool_choice: { type } }, { model: models.bound })).toBeUndefined();
  });
});
