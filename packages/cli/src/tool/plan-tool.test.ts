import { expect, test } from "vitest";
import { type PlanMode, type ProposePlanOutcome, forkPlanMode } from "palimpsest/internal/ports/plan-mode";
import { millis, toolUseId } from "palimpsest/internal/schema/brand";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { createReadFiles } from "palimpsest/internal/context/read-files";
import { planCharsMax, planTool } from "./plan-tool.ts";

const answering = (answer: ProposePlanOutcome): PlanMode => ({
  enter: async () => ({ kind: "on" }),
  propose: async () => answer,
});

async function called(planning: PlanMode, input: JsonObject): Promise<readonly [string, boolean]> {
  const context = { toolUse: toolUseId("t"), cwd: "/", files: createReadFiles(), now: millis(0) };
  const plan = await planTool({ planning }).plan(input, context);
  if (plan.kind === "wrong") return [plan.message, true];
  const { content, isError = false } = await plan.run(new AbortController().signal);
  return [typeof content === "string" ? content : JSON.stringify(content), isError];
}

test.each<[string, ProposePlanOutcome, RegExp, boolean]>([
  [
    "accepted",
    { kind: "accepted", mode: "default" },
    /^The person accepted the plan\. Plan mode is over\. Changes are still asked about/,
    false,
  ],
  [
    "accepted with edits",
    { kind: "accepted", mode: "acceptEdits", words: "Go." },
    /accepted without asking\.\nThe person says: Go\.$/,
    false,
  ],
  ["accepted and changed", { kind: "accepted", mode: "default", plan: "Other." }, /It now reads:\nOther\.$/, false],
  ["refused", { kind: "refused", words: "Smaller." }, /plan mode stays on\. The person says: Smaller\.$/, false],
  ["refused without a word", { kind: "refused" }, /Ask what should be otherwise/, false],
  ["shown to nobody", { kind: "nobody" }, /^Nobody is there .* plan mode stays on/, false],
  ["not kept", { kind: "failed", message: "no space" }, /^no space$/, true],
])("a plan that was %s is told so", async (_, answer, words, isError) => {
  const [text, wasError] = await called(answering(answer), { plan: "1. Do it." });
  expect(text).toMatch(words);
  expect(wasError).toBe(isError);
});

test("without a plan it turns plan mode on", async () => {
  expect(await called(answering({ kind: "nobody" }), {})).toEqual([expect.stringMatching(/^Plan mode is on\./), false]);
});

test.each<JsonObject>([{ plan: " " }, { plan: "x".repeat(planCharsMax + 1) }, { text: "x" }])(
  "a wrong input runs nothing: %#",
  async (input) => {
    const [text, isError] = await called(answering({ kind: "accepted", mode: "default" }), input);
    expect([text.startsWith("plan: "), isError]).toEqual([true, true]);
  },
);

test("a fork can neither enter plan mode nor have it ended", async () => {
  for (const input of [{}, { plan: "x" }])
    expect(await called(forkPlanMode, input)).toEqual([expect.stringContaining("side task"), true]);
});
