import { expect, it } from "vitest";
import { isMatch, parseMatcher } from "./hook.ts";

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
  expect(isMatch(parseMatcher(matcher), [name])).toBe(matched);
});

it("one fitting name of several is enough", () => {
  expect(isMatch(parseMatcher("Bash"), ["bash", "Bash"])).toBe(true);
  expect(isMatch(parseMatcher("Bash"), [])).toBe(false);
});
