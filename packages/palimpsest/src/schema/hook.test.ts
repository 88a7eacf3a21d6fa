import { expect, it } from "vitest";
import { isMatched, matcherOf } from "./hook.ts";

it.each([
  ["", "Bash", true],
  ["*", "Bash", true],
  ["Bash", "Bash", true],
  ["Bash", "BashOutput", false],
  ["Bash", "bash", false],
  ["Edit|Write", "Write", true],
  ["Edit, Write", "Write", true],
  ["Edit|Write", "NotebookEdit", false],
  ["mcp__files__read-file", "mcp__files__read-file", true],
  ["two words", "two words", true],
  ["|", "", false],
  ["Note.*", "NotebookEdit", true],
  [".*", "Bash", true],
  ["mcp__.*__write", "mcp__a__write_file", true],
  ["^Edit$", "NotebookEdit", false],
  ["^Edit$", "Edit", true],
  ["Edi.", "NotebookEdit", true],
  ["(", "(", false],
])("matcher %j and the name %j: %j", (matcher, name, matched) => {
  expect(isMatched(matcherOf(matcher), [name])).toBe(matched);
});

it("one fitting name of several is enough", () => {
  expect(isMatched(matcherOf("Bash"), ["bash", "Bash"])).toBe(true);
  expect(isMatched(matcherOf("Bash"), [])).toBe(false);
});
