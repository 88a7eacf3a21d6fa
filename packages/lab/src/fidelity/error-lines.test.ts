import { describe, expect, it } from "vitest";
import { findErrorLines, type ResultInput } from "./text-facts.ts";
import { errorLinesMax } from "../limits.ts";

const lines = (text: string, changes: Partial<ResultInput> = {}) =>
  findErrorLines({ text, failed: false, of: "command", ...changes });

describe("error lines of a result", () => {
  it.each<[string, string, readonly string[]]>([
    ["an exception", "Traceback:\n  at x\nValueError: no such hour", ["ValueError: no such hour"]],
    [
      "a compiler",
      "ok\nsrc/a.ts(3,1): error TS2304: Cannot find name 'x'.",
      ["src/a.ts(3,1): error TS2304: Cannot find name 'x'."],
    ],
    ["a shell", "bash: clockd: command not found", ["bash: clockd: command not found"]],
    ["a test run", "FAIL  test/a.test.ts\n1 failed, 3 passed", ["FAIL test/a.test.ts", "1 failed, 3 passed"]],
    ["tests of another kind", "--- FAIL: TestHands (0.1s)\nok  \tbells", ["--- FAIL: TestHands (0.1s)"]],
    ["a package manager", "npm ERR! missing script: wind", ["npm ERR! missing script: wind"]],
    ["nothing", "0 failed, 3 passed\nno errors found", []],
  ])("of %s", (_, text, found) => {
    expect(lines(text)).toEqual(found);
  });

  it("are none where a file that was read speaks of errors", () => {
    expect(lines("throw new Error()\nTypeError: x", { of: "content" })).toEqual([]);
  });

  it("are the first words of whatever failed, where no line looks like one", () => {
    expect(lines("\n---\nThe file has changed since.\nRead it again.", { failed: true, of: "content" })).toEqual([
      "The file has changed since.",
    ]);
  });

  it("are without the tag that a client puts around them", () => {
    const text = "<tool_use_error>Read the file first.</tool_use_error>";
    expect(lines(text, { failed: true, of: "content" })).toEqual(["Read the file first."]);
  });

  it("are none of a call that was never made because another failed", () => {
    const text = "<tool_use_error>Sibling tool call errored</tool_use_error>";
    expect(lines(text, { failed: true, of: "content" })).toEqual([]);
  });

  it("are the first ones, each once", () => {
    const many = Array.from({ length: 9 }, (_, n) => `error: number ${n}`).flatMap((line) => [line, line]);
    expect(lines(many.join("\n"))).toEqual(
      ["error: number 0", "error: number 1", "error: number 2"].slice(0, errorLinesMax),
    );
  });
});
