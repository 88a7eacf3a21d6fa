import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cpuMillis } from "../../../../test/fixture/cpu-millis.ts";
import { readInstructionText } from "./read-instruction-text.ts";

describe("comments", () => {
  it.each([
    ["a\n<!-- for people -->\nb", "a\nb"],
    ["a\n<!-- over\n\nlines -->\nb", "a\nb"],
    ["<!-- one --> kept <!-- inline -->", "kept <!-- inline -->"],
    ["<!-- one -->\n   <!-- two -->x", "x"],
    ["<!-- one --><!-- two -->\nx", "x"],
    ["a <!-- in a line --> b", "a <!-- in a line --> b"],
    ["a\n<!-- never ends\nb", "a\n<!-- never ends\nb"],
    ["```html\n<!-- code -->\n```", "```html\n<!-- code -->\n```"],
    ["~~~\n<!-- a -->\n```\n<!-- b -->\n~~~\n<!-- c -->", "~~~\n<!-- a -->\n```\n<!-- b -->\n~~~"],
    ["\uFEFF# Title\r\ntext", "# Title\ntext"],
  ])("%j → %j", (source, text) => {
    expect(readInstructionText(source).text).toBe(text);
  });
});

describe("imports", () => {
  it.each<[string, readonly string[]]>([
    ["@a.md", ["a.md"]],
    ["See @docs/a.md, @../b.md and (not)@c.md.", ["docs/a.md", "../b.md"]],
    ["- @~/.claude/mine.md\n- @/abs/x.md.", ["~/.claude/mine.md", "/abs/x.md"]],
    ["@with\\ space.md", ["with space.md"]],
    ["@a.md @a.md", ["a.md"]],
    ["mail me@example.com", []],
    ["a lone @ sign", []],
    ["`@a.md` and ``x ` @b.md``", []],
    ["`not closed @a.md\n\n`", ["a.md"]],
    ["```\n@a.md\n```\n@b.md", ["b.md"]],
    ["````\n```\n@a.md\n```\n````\n@b.md", ["b.md"]],
    ["- item\n  ```\n  @a.md\n  ```\n- @b.md", ["b.md"]],
    ["text\n\n    @code.md\n\n    @code2.md\n\ntext", []],
    ["- item\n\n    @in-list.md", ["in-list.md"]],
    ["text\n    @lazy.md", ["lazy.md"]],
    ["<!-- @a.md -->\n@b.md", ["b.md"]],
  ])("%j → %j", (source, imports) => {
    expect(readInstructionText(source).imports).toEqual(imports);
  });

  it("a file names at most a hundred", () => {
    const source = Array.from({ length: 150 }, (_, at) => `@${at}.md`).join(" ");
    expect(readInstructionText(source).imports).toHaveLength(100);
  });
});

it("reading what was read changes nothing", () => {
  const line = fc.constantFrom(
    "<!--",
    "-->",
    "<!-- x -->",
    "```",
    "~~~",
    "    code",
    "- item",
    "@a.md",
    "",
    "`",
    "text",
  );
  fc.assert(
    fc.property(fc.array(line), (lines) => {
      const once = readInstructionText(lines.join("\n"));
      // A comment that never ended may find its end once another is gone: then the second reading is no law.
      fc.pre(!once.text.includes("<!--"));
      expect(readInstructionText(once.text).text).toBe(once.text);
    }),
  );
});

it("takes time in proportion to the text, also for comments that never end", () => {
  const began = cpuMillis();
  readInstructionText("<!--\n".repeat(200_000));
  readInstructionText(`${"<!--\n".repeat(200_000)}-->\n${"<!--\n".repeat(100_000)}`);
  expect(cpuMillis() - began).toBeLessThan(5_000);
});
