import { expect, test } from "vitest";
import { planRefusedText } from "../../tool/plan-tool.ts";
import { callEndState } from "./chat-state.ts";

test.each([
  ["plan", planRefusedText, { state: "denied", summary: "" }],
  ["plan", `${planRefusedText}: smaller steps`, { state: "denied", summary: "smaller steps" }],
  ["plan", "the plan was accepted", { state: "done", summary: "the plan was accepted" }],
  ["bash", planRefusedText, { state: "done", summary: planRefusedText }],
])("%s that ends with %j", (tool, summary, expected) => {
  expect(callEndState({ tool, state: "done", summary })).toEqual(expected);
});
