import { expect, it } from "vitest";
import type { Json, JsonObject } from "palimpsest/internal/schema/json";
import { instanceDepthMax } from "../limits.ts";
import { minimalInstance } from "./echo-responder.ts";

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
