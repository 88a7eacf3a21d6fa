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
      expect(pathPattern(pattern, letters).test(pattern)).toBeTypeOf("boolean");
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

test("with many wildcards it matches the same paths as with few", () => {
  const pieces = ["a", "b", "/", "*", "**", "**/", "?", "[ab]", "[!a]", "{a,b/}", "{,ab,*}", "[b-a]", "ä", "😀"];
  const pattern = fc.array(fc.constantFrom(...pieces), { maxLength: 6 }).map((list) => `*${list.join("")}`);
  const path = fc.string({ unit: fc.constantFrom("a", "b", "/", "😀", "]", "[", "-"), maxLength: 10 });
  fc.assert(
    fc.property(
      pattern.filter((one) => (one.match(/\*\*\/|\*+/g) ?? []).length <= 3),
      path,
      (one, text) => {
        // Four times the same choice: too many wildcards for a regular expression.
        const many = `{${[one, one, one, one].join(",")}}`;
        expect(pathPattern(many, "any-case").test(text)).toBe(pathPattern(one, "any-case").test(text));
      },
    ),
    { numRuns: 3_000 },
  );
});

test.each([
  [`${"*a".repeat(40)}*b`, "a".repeat(250)],
  [`${"**/a/".repeat(40)}b`, `${"a/".repeat(100)}c`],
  [`${"**/*".repeat(40)}b`, `${"ab/".repeat(100)}c`],
])("a hostile pattern is answered at once: %#", (pattern, path) => {
  const start = process.threadCpuUsage().user;
  expect(pathPattern(pattern, "as-given").test(path)).toBe(false);
  expect(process.threadCpuUsage().user - start).toBeLessThan(500_000);
});
