import * as fc from "fast-check";
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
  ["[a&b]", "&", true],
  ["[a~b]", "~", true],
  ["[a|b]", "|", true],
  ["[!-a]", "0", true],
  ["[!-a]", "-", false],
  ["[]]", "]", true],
  ["[^]a]", "]", false],
  ["[z-a]", "[z-a]", true],
  ["[z-a]", "m", false],
  ["[]", "[]", true],
  ["[!]", "[!]", true],
  ["[a", "[a", true],
  ["}{", "}{", true],
  ["a}b{c", "a}b{c", true],
  ["*.{ts", "a.{ts", true],
  ["{a,{b,c}", "{a,c", true],
  ["{a,b}}", "b}", true],
  ["{a,{b,c}}", "c", true],
])("%s on %s: %s", (pattern, path, expected) => {
  expect(pathPattern(pattern, "as-given").test(path)).toBe(expected);
});

test("in any case, if asked", () => {
  expect(pathPattern("a/.ENV", "any-case").test("a/.env")).toBe(true);
  expect(pathPattern("a/.ENV", "as-given").test("a/.env")).toBe(false);
});

const patternText = fc.oneof(
  fc.string({ unit: fc.constantFrom(...String.raw`[]{}!^-,*?/\&~|azAZ09.`.split("")) }),
  fc.string({ unit: "binary" }),
  // Also halves of surrogate pairs.
  fc.array(fc.integer({ min: 0, max: 0xff_ff })).map((units) => String.fromCharCode(...units)),
);

test("any text is a pattern", () => {
  fc.assert(
    fc.property(patternText, fc.constantFrom("as-given" as const, "any-case" as const), (pattern, letters) => {
      expect(pathPattern(pattern, letters)).toBeInstanceOf(RegExp);
    }),
    { numRuns: 5_000 },
  );
});

test("a text without wildcards, complete classes or complete lists matches itself", () => {
  const text = fc.string({ unit: fc.constantFrom(..."]}-,&~|!^az./(+$".split("")) });
  const openers = fc.constantFrom("", "[", "{", "[z-a]", "[]", "{{");
  fc.assert(
    fc.property(text, openers, (start, opener) => {
      const pattern = `${start}${opener}`;
      expect(pathPattern(pattern, "as-given").test(pattern)).toBe(true);
    }),
  );
});
