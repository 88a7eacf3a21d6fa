import { describe, expect, it } from "vitest";
import { matchesRule, readCursorRule, readRule } from "./read-rule.ts";

describe("the patterns of a rule", () => {
  it.each([
    ["paths: src/**/*.ts", ["src/**/*.ts"]],
    ['paths: "src/**/*.ts"', ["src/**/*.ts"]],
    ["paths: {src,lib}/**/*.ts, tests/*.ts", ["{src,lib}/**/*.ts", "tests/*.ts"]],
    ["paths: [\"a, b\", 'c'] # two", ["a, b", "c"]],
    ['paths:\n  - "src/**"\n  - lib/** # ours\nother: 1', ["src/**", "lib/**"]],
    ["paths:\n- **/*.go", ["**/*.go"]],
    ["title: x", []],
    ["paths:", []],
    ["paths: **", []],
    ["paths: [**/*]", []],
  ])("%j are %j", (front, patterns) => {
    expect(readRule(`---\n${front}\n---\ntext\n`)).toEqual({
      body: "text\n",
      counts: patterns.length === 0 ? "always" : "for-paths",
      patterns,
    });
  });

  it("are none without front matter", () => {
    for (const text of ["plain\n---\npaths: x\n---\n", "---\npaths: x\nnever closed"])
      expect(readRule(text)).toEqual({ body: text, counts: "always", patterns: [] });
  });

  it("in Cursor's form count unless the rule always applies", () => {
    const rule = (front: string) => readCursorRule(`---\n${front}\n---\nx`);
    expect(rule("description: d\nglobs: *.ts,src/**\nalwaysApply: false")).toEqual({
      body: "x",
      counts: "for-paths",
      patterns: ["*.ts", "src/**"],
    });
    expect(rule("globs: *.ts\nalwaysApply: true").counts).toBe("always");
    expect(rule("description: asked for by name\nglobs:\nalwaysApply: false").counts).toBe("never");
  });
});

it.each([
  ["src/**/*.ts", "src/a/b.ts", true],
  ["*.md", "README.md", true],
  ["*.md", "docs/README.md", false],
  ["**/*.md", "docs/README.md", true],
  ["./src/api", "src/api/x/y.ts", true],
  ["src/api/", "src/api/x.ts", true],
  ["src/api/", "src/apiary.ts", false],
  ["src/*", "src/a/b.ts", false],
])("%s matches %s: %j", (pattern, path, isMatch) => {
  expect(matchesRule({ patterns: [pattern], base: "/p" }, `/p/${path}`)).toBe(isMatch);
  expect(matchesRule({ patterns: [pattern], base: "/p" }, `/q/${path}`)).toBe(false);
});
