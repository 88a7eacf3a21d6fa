import { expect, it } from "vitest";
import { answers, assistantSays, calls, requestOf, said, tool, userSays } from "../../../../test/fixture/scene.ts";
import { echoMove, minimalInstance } from "./echo-responder.ts";
import type { Json, JsonObject } from "palimpsest/internal/schema/json";
import { instanceDepthMax } from "../limits.ts";

it.each<[string, string | readonly object[], string]>([
  ["quotes the last user text", "Fix the test", "You wrote: “Fix the test”"],
  [
    "quotes only the beginning of a long one",
    "one two three four five six seven eight nine ten eleven twelve thirteen",
    "You wrote: “one two three four five six seven eight nine ten eleven twelve …”",
  ],
  [
    "leaves out what a client put in by itself",
    [userSays("Go on", "<system-reminder>\nnobody said this\n</system-reminder>")],
    "You wrote: “Go on”",
  ],
  [
    "looks back past results",
    [userSays("Read it"), assistantSays(calls("t1", "read", {})), answers("t1", "content")],
    "You wrote: “Read it”",
  ],
  [
    "says so where there are no words",
    [userSays("<system-reminder>x</system-reminder>")],
    "There are no words to answer here.",
  ],
])("%s", (_, messages, expected) => {
  expect(said(echoMove(requestOf(messages)))).toBe(expected);
});

const schema = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] };

it.each<[string, object, string]>([
  ["calls the tool that it must", { tool_choice: { type: "tool", name: "write" } }, 'write({"path":""})'],
  ["calls the first tool where any will do", { tool_choice: { type: "any" } }, 'read({"path":""})'],
  ["talks where no tool must be called", { tool_choice: { type: "auto" } }, "You wrote: “Go”"],
  ["says JSON where it must", { output_config: { format: { type: "json_schema", schema } } }, '{"ok":false}'],
  [
    "calls rather than says it",
    { tool_choice: { type: "any" }, output_config: { format: { type: "json_schema", schema } } },
    'read({"path":""})',
  ],
])("%s", (_, more, expected) => {
  const tools = [tool("read", ["path"]), tool("write", ["path", "text"], ["path"])];
  expect(said(echoMove(requestOf("Go", { tools, ...more })))).toBe(expected);
});

it.each<[string, JsonObject, Json]>([
  [
    "has what is required, and nothing else",
    { type: "object", properties: { a: { type: "string" }, b: { type: "string" } }, required: ["a"] },
    { a: "" },
  ],
  [
    "has the least of every type",
    {
      type: "object",
      properties: {
        number: { type: "number" },
        integer: { type: "integer" },
        boolean: { type: "boolean" },
        nothing: { type: "null" },
        list: { type: "array", items: { type: "string" } },
        either: { type: ["string", "null"] },
      },
      required: ["number", "integer", "boolean", "nothing", "list", "either", "unsaid"],
    },
    { number: 0, integer: 0, boolean: false, nothing: null, list: [], either: "", unsaid: {} },
  ],
  ["takes the first of several values", { enum: ["b", "a"] }, "b"],
  ["takes a fixed one", { const: 7, enum: [1] }, 7],
  ["takes null where it is fixed", { const: null }, null],
  ["takes the first branch", { anyOf: [{ type: "integer" }, { type: "string" }] }, 0],
  [
    "follows a reference",
    {
      type: "object",
      properties: { p: { $ref: "#/$defs/point~1" } },
      required: ["p"],
      $defs: { "point/": { type: "object", properties: { x: { type: "number" } }, required: ["x"] } },
    },
    { p: { x: 0 } },
  ],
  ["is empty where nothing is known", {}, {}],
  ["is empty where a reference leads nowhere", { $ref: "#/$defs/none" }, {}],
])("%s", (_, schema, expected) => {
  expect(minimalInstance(schema)).toEqual(expected);
});

it("ends where a schema does not", () => {
  const schema = {
    type: "object",
    properties: { left: { $ref: "#" }, right: { $ref: "#" } },
    required: ["left", "right"],
  };
  const deepest = JSON.stringify(minimalInstance(schema)).match(/^(?:\{"left":)*/)?.[0].length ?? 0;
  expect(deepest / '{"left":'.length).toBeLessThanOrEqual(instanceDepthMax);
  expect(minimalInstance({ $ref: "#" })).toEqual({});
});
