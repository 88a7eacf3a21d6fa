import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { countReadLines } from "./chat-tail.ts";
import { countLinesGone, detectLongLineMode, countRows } from "./chat-tui.ts";

describe("after a resize", () => {
  test.each([
    ["fits", ["a", "b"], { columns: 10, rows: 2 }, 0],
    ["is lower", ["a", "b", "c"], { columns: 10, rows: 2 }, 1],
    ["is narrower", ["a", "12345678", "c"], { columns: 4, rows: 3 }, 1],
    ["is narrower, with wide characters", ["a", "漢字漢字", "c"], { columns: 4, rows: 3 }, 1],
    ["has styles that take no room", ["a", "\u001B[31m1234\u001B[39m"], { columns: 4, rows: 2 }, 0],
    ["has a line that is higher than the screen", ["a", "12345678"], { columns: 2, rows: 3 }, 2],
  ] as const)("a terminal that %s has moved lines to its scrollback", (_, lines, size, gone) => {
    expect(countLinesGone(lines, { ...size, narrowing: "wraps" })).toBe(gone);
  });

  test("a terminal that cuts lines has as many rows as before", () => {
    expect(countRows(["12345678", ""], 2, "cuts")).toBe(2);
    expect(countRows(["12345678", ""], 2, "wraps")).toBe(5);
  });

  test.each([
    [{ TERM: "xterm-256color" }, "wraps"],
    [{ TERM: "xterm", XTERM_VERSION: "XTerm(390)" }, "cuts"],
    [{ TERM: "linux" }, "cuts"],
    [{ TERM: "screen", STY: "1.pts" }, "cuts"],
    [{ TERM: "screen-256color", TMUX: "/tmp/x" }, "wraps"],
    [{}, "wraps"],
  ] as const)("%j", (env, expected) => {
    expect(detectLongLineMode(env)).toBe(expected);
  });
});

const laid = (text: string, width: number): readonly string[] =>
  text.match(new RegExp(`.{1,${width}}`, "gsu"))?.map((line) => line.trim()) ?? [];

describe("where one has read to", () => {
  const letters = fc.stringMatching(/^[a-z ]{0,300}$/);
  const width = fc.integer({ min: 2, max: 40 });

  test("law: in a text that only grows it is the next line", () => {
    fc.assert(
      fc.property(fc.array(letters), fc.array(letters), (read, more) => {
        expect(countReadLines(read, [...read, ...more])).toBe(read.length);
      }),
    );
  });

  test("rules that are as long as the line do not count", () => {
    expect(countReadLines(["──────────", "abc", "def"], ["────", "abc", "def", "ghi"])).toBe(3);
  });

  test("law: in a text laid out anew nothing is left out, and less than a line is read again", () => {
    fc.assert(
      fc.property(letters, width, width, fc.nat(), (text, one, other, count) => {
        const read = laid(text, one).slice(0, count % 20);
        const lines = laid(text, other);
        const at = countReadLines(read, lines);
        const ink = (some: readonly string[]): number => some.join("").replaceAll(" ", "").length;
        expect(ink(lines.slice(0, at))).toBeLessThanOrEqual(ink(read));
        if (at < lines.length) expect(ink(lines.slice(0, at + 1))).toBeGreaterThanOrEqual(ink(read));
      }),
    );
  });
});
