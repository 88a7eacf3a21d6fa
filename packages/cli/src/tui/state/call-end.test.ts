import { expect, test } from "vitest";
import { planRefusedWords } from "../../tool/plan/words.ts";
import { callEnd } from "./call-end.ts";

test.each([
  ["plan", planRefusedWords, { state: "denied", summary: "" }],
  ["plan", `${planRefusedWords}: smaller steps`, { state: "denied", summary: "smaller steps" }],
  ["plan", "the plan was accepted", { state: "done", summary: "the plan was accepted" }],
  ["bash", planRefusedWords, { state: "done", summary: planRefusedWords }],
])("%s that ends with %j", (tool, summary, expected) => {
  expect(callEnd({ tool, state: "done", summary })).toEqual(expected);
});
