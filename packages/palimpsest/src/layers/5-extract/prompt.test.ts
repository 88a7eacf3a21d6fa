import { expect, test } from "vitest";
import { extractionPrompt } from "./prompt.ts";

const input = {
  writing: "tool",
  turnsMax: 5,
  today: "2026-11-17",
  since: "No, use tabs.\nAnd more",
  manifest: ["- indent.md (feedback, 3 days old): Indent — How code is indented"],
  shown: ["Memory indent.md (feedback; 3 days old; by the user):\nUse spaces."],
} as const;

test("a fork with the memory tool is asked with these words", () => {
  expect(extractionPrompt(input)).toMatchSnapshot();
});

test("a fork without it is asked for one list", () => {
  expect(extractionPrompt({ ...input, writing: "text", manifest: [], shown: [] })).toMatchSnapshot();
});

test("a user's own prompt gets what it does not mention at its end", () => {
  expect(extractionPrompt({ ...input, template: "Remember things of {{today}}. {{unknown}}" })).toBe(
    `Remember things of 2026-11-17. {{unknown}}

New is what came from this message on: "No, use tabs. And more"

${extractionPrompt({ ...input, template: "{{how}}{{since}}{{memories}}" }).split('"No, use tabs.')[0]}

- indent.md (feedback, 3 days old): Indent — How code is indented

These are shown whole, since the new messages seem to touch on them:

Memory indent.md (feedback; 3 days old; by the user):
Use spaces.`,
  );
});
