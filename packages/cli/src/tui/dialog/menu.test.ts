import { expect, test } from "vitest";
import { createTheme } from "../theme.ts";
import { menuBlock, pressInMenu } from "./menu.ts";

const choices = [
  { label: "One", key: "y" },
  { label: "Two", description: "and more of it" },
  { label: "Three", key: "n" },
];

test.each([
  ["down", 0, { kind: "move", at: 1 }],
  ["down", 2, { kind: "move", at: 0 }],
  ["up", 0, { kind: "move", at: 2 }],
  ["enter", 1, { kind: "take", at: 1 }],
  ["n", 0, { kind: "take", at: 2 }],
  ["2", 0, { kind: "take", at: 1 }],
  ["4", 0, { kind: "none" }],
  ["0", 0, { kind: "none" }],
  ["x", 0, { kind: "none" }],
])("%s at %i", (key, at, expected) => {
  expect(pressInMenu({ choices, at }, key)).toEqual(expected);
});

test("what is at hand is seen, however few rows there are", () => {
  const theme = createTheme("none");
  for (const at of [0, 1, 2]) {
    for (const rows of [1, 2, 3]) {
      const lines = menuBlock({ choices, at }, theme).lines({ width: 40, rows });
      expect(lines.length).toBeLessThanOrEqual(rows);
      expect(lines.some((line) => line.startsWith("❯"))).toBe(true);
    }
  }
});

test("those that have no room are counted, above and below", () => {
  const theme = createTheme("none");
  const signs = (at: number): string | undefined =>
    menuBlock({ choices, at }, theme).lines({ width: 40, rows: 3 }).at(-1)?.trim();
  expect([0, 1, 2].map(signs)).toEqual(["2 more ↓", "1 more ↑ · 1 more ↓", "2 more ↑"]);
  const whole = menuBlock({ choices, at: 0 }, theme).lines({ width: 40, rows: 4 });
  expect(whole.join("\n")).not.toContain("more ↓");
});

test("a long label goes on below itself", () => {
  const block = menuBlock({ choices: [{ label: "a word and another one" }], at: 0 }, createTheme("none"));
  expect(block.lines({ width: 15, rows: 5 }).map((line) => line.trimEnd())).toEqual([
    "❯ 1. a word and",
    "     another",
    "     one",
  ]);
});
