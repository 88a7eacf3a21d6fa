import { expect, test } from "vitest";
import { pathPattern } from "./path-pattern.ts";

test.each([
  ["*.ts", "a.ts", true],
  ["*.ts", "b/a.ts", false],
  ["*", ".env", true],
  ["**/*.ts", "a.ts", true],
  ["**/*.ts", "a/b/c.ts", true],
  ["a/**", "a/.b/c", true],
  ["a/**", "a", false],
  ["a/**/z", "a/z", true],
  ["a/**/z", "a/b/c/z", true],
  ["a/**/z", "a/bz", false],
  ["a?c", "abc", true],
  ["a?c", "a/c", false],
  ["[a-c].ts", "b.ts", true],
  ["[!a-c].ts", "b.ts", false],
  ["[!a].ts", "/.ts", false],
  ["*.{ts,tsx}", "a.tsx", true],
  ["*.{ts,tsx}", "a.js", false],
  ["a{b", "a{b", true],
  ["a.b", "axb", false],
  ["a(b)+", "a(b)+", true],
  ["a,b", "a,b", true],
])("%s on %s: %s", (pattern, path, expected) => {
  expect(pathPattern(pattern, "as-given").test(path)).toBe(expected);
});

test("in any case, if asked", () => {
  expect(pathPattern("a/.ENV", "any-case").test("a/.env")).toBe(true);
  expect(pathPattern("a/.ENV", "as-given").test("a/.env")).toBe(false);
});
