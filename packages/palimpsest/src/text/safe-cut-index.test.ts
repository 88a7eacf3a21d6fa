import { expect, test } from "vitest";
import { lastLine } from "./safe-cut-index.ts";

test.each([
  ["one line", "done", "done"],
  ["blank lines behind it", "first\nlast\n \n\n", "last"],
  ["a line that is too long", `x\n${"y".repeat(20)}`, `${"y".repeat(10)}…`],
  ["nothing but blanks", " \n\n\t\n", ""],
  ["nothing", "", ""],
])("the last line that says something: %s", (_, text, line) => {
  expect(lastLine(text, 10)).toBe(line);
});
