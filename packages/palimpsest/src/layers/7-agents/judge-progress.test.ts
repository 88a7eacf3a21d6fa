import { array, assert, constantFrom, property, string } from "fast-check";
import { describe, expect, it } from "vitest";
import type { Message } from "../../schema/block.ts";
import { toolUseId } from "../../schema/brand.ts";
import { judgeProgress } from "./judge-progress.ts";
import { newestMessagesMax, progressCharsMax, progressWordsMax } from "./limits.ts";

const messages: readonly Message[] = [
  { role: "user", content: [{ type: "text", text: "Make the retries shorter. We use TypeScript and GitHub." }] },
  {
    role: "assistant",
    content: [
      { type: "tool_use", id: toolUseId("t1"), name: "read", input: { file_path: "src/loop.ts" } },
      { type: "tool_use", id: toolUseId("t2"), name: "read", input: { file_path: "/project/Makefile" } },
      { type: "tool_use", id: toolUseId("t3"), name: "grep", input: { pattern: "nextTry" } },
    ],
  },
  {
    role: "user",
    content: [
      { type: "tool_result", tool_use_id: toolUseId("t1"), content: "export function runTurn() { wait_ms(3); go(); }" },
      { type: "tool_result", tool_use_id: toolUseId("t2"), content: [{ type: "text", text: "test: a.test.ts" }] },
      { type: "tool_result", tool_use_id: toolUseId("t3"), content: "my-queue.ts" },
    ],
  },
];

describe("a line is kept", () => {
  it.each([
    ["Reading loop.ts", "Reading loop.ts"],
    ["Reading src/loop.ts for retries", "Reading src/loop.ts for retries"],
    [' "Fixing runTurn in loop.ts." ', "Fixing runTurn in loop.ts"],
    ["`Testing go() again`", "Testing go() again"],
    ["Searching for nextTry", "Searching for nextTry"],
    ["Shortening wait_ms in code", "Shortening wait_ms in code"],
    ["Running the Makefile", "Running the Makefile"],
    ["Fixing failed a.test.ts", "Fixing failed a.test.ts"],
    ["re-reading loop.ts", "re-reading loop.ts"],
  ])("%s", (answer, text) => expect(judgeProgress(answer, messages)).toEqual({ kind: "line", text }));
});

describe("a line is dropped", () => {
  it.each([
    ["past-tense", "Finished reading loop.ts"],
    ["past-tense", "Fixed loop.ts and tested"],
    ["past-tense", "Was reading loop.ts"],
    ["past-tense", "Having read loop.ts"],
    ["past-tense", "Testing finished for loop.ts"],
    ["past-tense", "Reading loop.ts completed"],
    ["past-tense", "Reading loop.ts is done"],
    ["not-present", "Read and test loop.ts"],
    ["not-present", "Nothing changed in loop.ts"],
    ["not-present", "The agent reads loop.ts"],
    ["not-present", "I am reading loop.ts"],
    ["not-present", "loop.ts, reading it"],
    ["too-many-words", "Reading loop.ts to find the retries"],
    ["too-few-words", "Reading"],
    ["too-few-words", "loop.ts"],
    ["no-name", "Thinking about the request"],
    ["no-name", "Reading queue.ts for retries"],
    ["no-name", "Reading the loop file"],
    ["no-name", "Improving the TypeScript code"],
    ["no-name", "Calling GitHub for tests"],
    ["no-name", "Testing stop() again"],
    ["several-lines", "Reading loop.ts\nnow"],
    ["several-lines", "Reading loop.ts\u2028now"],
    ["unprintable", "Reading loop.ts \u001B[2J"],
    ["unprintable", "Reading \u202Eloop.ts"],
    ["empty", ' "" '],
    ["too-long", `Reading loop.ts ${"x".repeat(progressCharsMax)}`],
  ])("%s: %s", (why, answer) => expect(judgeProgress(answer, messages)).toEqual({ kind: "dropped", why }));

  it("if it names what only older messages have", () => {
    const filler: Message = { role: "user", content: [{ type: "text", text: "Go on." }] };
    const later = [...messages, ...Array.from({ length: newestMessagesMax }, () => filler)];
    expect(judgeProgress("Reading loop.ts", later)).toEqual({ kind: "dropped", why: "no-name" });
  });
});

it("whatever a model says, a line is short, printable, one line, and begins with a verb in -ing", () => {
  const word = constantFrom("Reading", "loop.ts", "runTurn", "was", "finished", "\n", "\u0007", '"', "in", "(((", "..");
  assert(
    property(array(word, { maxLength: 8 }), string(), (words, tail) => {
      const verdict = judgeProgress([...words, tail].join(" "), messages);
      if (verdict.kind === "dropped") return;
      expect(verdict.text).toMatch(/^[A-Za-z-]+ing [^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+$/u);
      expect(verdict.text.length).toBeLessThanOrEqual(progressCharsMax);
      expect(verdict.text.split(/\s+/).length).toBeLessThanOrEqual(progressWordsMax);
      expect(verdict.text).toMatch(/loop\.ts|runTurn/);
      expect(verdict.text).not.toMatch(/ was\b/);
    }),
  );
});
