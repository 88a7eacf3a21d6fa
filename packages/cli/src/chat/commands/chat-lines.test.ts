import { PassThrough } from "node:stream";
import { visibleWidth } from "@earendil-works/pi-tui";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createOutput } from "../../program/output.ts";
import { chatLines } from "./chat-lines.ts";

/** Colours are asked for by the environment here: the stream is no terminal. */
function linesFor(columns: number, env: Readonly<Record<string, string>> = {}) {
  const out = createOutput(new PassThrough(), env);
  const context = { out, err: out, env } as never;
  return chatLines({ context, ui: { columns } as never });
}

test("what stands behind a label goes on below it, and an indented line under itself", () => {
  const { toLines: of } = linesFor(24);
  expect(of("cache     one two three four five")).toEqual(["cache     one two three", "          four five"]);
  expect(of("  one two three four five six")).toEqual(["  one two three four", "  five six"]);
});

test("no line is wider than the terminal, whatever the text is", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 200 }), fc.integer({ min: 20, max: 100 }), (text, columns) => {
      for (const line of linesFor(columns).toLines(text)) expect(visibleWidth(line)).toBeLessThanOrEqual(columns);
    }),
  );
  const wide = linesFor(20).toLines("常量".repeat(30));
  expect(wide).toHaveLength(6);
  expect(wide.join("")).toBe("常量".repeat(30));
});

test("a text's own sequences are shown as characters, ours are sequences, and with NO_COLOR there are none", () => {
  const coloured = linesFor(80, { FORCE_COLOR: "1" });
  expect(coloured.toLines(`${coloured.style("bold", "ours")} \u001B[2Jtheirs`)).toEqual([
    String.raw`${"\u001B[1mours\u001B[22m"} \x1b[2Jtheirs`,
  ]);
  const plain = linesFor(80, { FORCE_COLOR: "1", NO_COLOR: "1" });
  expect(plain.toLines(plain.style("bold", "ours"))).toEqual(["ours"]);
});
