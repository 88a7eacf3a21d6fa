import * as fc from "fast-check";
import { expect, test } from "vitest";
import { millis } from "palimpsest/internal/schema/brand";
import { createTheme } from "../theme.ts";
import { StreamingMarkdown, drawMarkdown } from "./draw-markdown.ts";

const theme = createTheme("ansi");
/** Where nothing takes time, nothing lags. */
const now = () => millis(0);

const piece = fc.constantFrom(
  "word ",
  "**bold** ",
  "`code` ",
  "$HOME/x ",
  "漢字 ",
  "👩‍💻 ",
  "\n",
  "\n",
  "\n\n",
  "\n\n",
  "\n\n\n",
  "# Title",
  "## Title\n",
  "- item",
  "* item\n",
  "+ ",
  "1",
  ".",
  "1. item\n",
  "2) item\n",
  "  ",
  "    ",
  "\t",
  "```",
  "```ts\n",
  "~~~\n",
  "`",
  "> quote\n",
  "---\n",
  "===\n",
  "| a | b |\n|---|---|\n| 1 | 2 |\n",
  "| x |",
  "<div>\n",
  "<pre>\n",
  "</pre>\n",
  "<!-- ",
  "-->",
  "<b>x</b>",
  "\\[",
  "\\]",
  "\\(x\\)",
  "[link](http://example.org/a) ",
  "http://example.org ",
  "&lt;",
  "\r\n",
  "\u001B[31m",
  "\u0007",
);

/** Longer than what is drawn again with each frame. */
const long = fc.constantFrom(
  Array.from({ length: 25 }, (_, line) => `const line${line} = "漢字";\n`).join(""),
  Array.from({ length: 25 }, (_, line) => `- item ${line}\n\n`).join(""),
  "\n\n  x\n".repeat(15),
);

test("shows at each moment what the text so far shows drawn whole", () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof({ weight: 12, arbitrary: piece }, { weight: 1, arbitrary: long }), { maxLength: 40 }),
      fc.integer({ min: 20, max: 100 }),
      (pieces, width) => {
        const growing = new StreamingMarkdown({ theme, now });
        let text = "";
        for (const next of pieces) {
          text += next;
          expect(growing.lines(text, width), JSON.stringify(text)).toEqual(drawMarkdown(text, { width, theme }));
        }
      },
    ),
    { numRuns: 200 },
  );
});

const code = Array.from({ length: 60 }, (_, line) =>
  line % 7 === 0 ? "" : `  run(${line}); // \\[${line}\\] $x`,
).join("\n");
const document = `Before:\n\`\`\`ts a language with a long name\n${code}\n\`\`\`\nBehind.\n\n1. one\n\n1. two\n\nEnd.`;

test("shows long code as it is drawn whole, however it comes in", () => {
  for (const step of [1, 7, 40]) {
    const growing = new StreamingMarkdown({ theme, now });
    for (let end = step; end < document.length + step; end += step) {
      const text = document.slice(0, end);
      expect(growing.lines(text, 24)).toEqual(drawMarkdown(text, { width: 24, theme }));
    }
  }
});

test.each([
  ["paragraphs", "Some `code` here.\n\n".repeat(300)],
  ["lines of code", `\`\`\`\n${"run();\n".repeat(300)}`],
])("draws finished %s no second time", (_, text) => {
  let painted = 0;
  const count = (code: string): string => {
    painted += 1;
    return code;
  };
  const growing = new StreamingMarkdown({ theme: { ...theme, code: count }, now });
  for (let end = 50; end < text.length; end += 50) growing.lines(text.slice(0, end), 80);
  painted = 0;
  expect(growing.lines(text, 80)).toHaveLength(drawMarkdown(text, { width: 80, theme }).length);
  expect(painted).toBeLessThan(100);
});

test("begins anew for another width and for another text", () => {
  const growing = new StreamingMarkdown({ theme, now });
  for (const [text, width] of [
    ["# One\n\nTwo three four five six seven\n\nEight", 40],
    ["# One\n\nTwo three four five six seven\n\nEight", 20],
    ["Another\n\ntext", 20],
  ] as const) {
    expect(growing.lines(text, width)).toEqual(drawMarkdown(text, { width, theme }));
  }
});

test("a link by reference to another block is its source until it is drawn whole", () => {
  const text = "See [there].\n\nMore.\n\n[there]: http://example.org\n";
  const room = { width: 60, theme: createTheme("none") };
  const growing = new StreamingMarkdown({ theme: room.theme, now });
  for (let end = 1; end < text.length; end += 1) growing.lines(text.slice(0, end), 60);
  expect(growing.lines(text, 60)[0]).toBe("See [there].");
  expect(drawMarkdown(text, room)[0]).toContain("http://example.org");
});

test.each([
  ["list", "- an item of a list that has no end\n"],
  ["table", "| a | b |\n"],
  ["paragraph", "words without any line "],
])("a long %s is drawn for a small share of the time, and whole once it has rested", (_, piece) => {
  const whole = `${piece === "| a | b |\n" ? "| a | b |\n|---|---|\n" : ""}${piece.repeat(1_000)}`;
  let clock = 0;
  // Each look takes a millisecond, so to draw takes one too.
  const growing = new StreamingMarkdown({ theme, now: () => millis(clock++) });
  let drawn = 0;
  let last: readonly string[] = [];
  for (let end = 6_000; end < whole.length; end += 100) {
    const lines = growing.lines(whole.slice(0, end), 80);
    if (lines !== last) drawn += 1;
    last = lines;
  }
  expect(drawn).toBeGreaterThan(1);
  expect(drawn).toBeLessThan((whole.length - 6_000) / 100 / 10);
  // Whether the first of these is drawn or not, the second comes too soon.
  growing.lines(whole.slice(0, -1), 80);
  growing.lines(whole, 80);
  expect(growing.state).toBe("behind");
  clock += 100;
  expect(growing.lines(whole, 80)).toEqual(drawMarkdown(whole, { width: 80, theme }));
  expect(growing.state).toBe("whole");
});
