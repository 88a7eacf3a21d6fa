import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fromEditable, toEditable, isEditable } from "./to-editable.ts";

describe("a text for the editor", () => {
  test.each([
    ["a window's title", "a\u001B]0;title\u0007b", String.raw`a\x1b]0;title\x07b`],
    ["what clears the screen", "\u001B[2J", String.raw`\x1b[2J`],
    ["a sequence of one character", "\u009B2J", String.raw`\x9b2J`],
    ["what turns the order round", "a\u202Eb", "a<U+202E>b"],
    ["line ends of other systems", "a\r\nb\rc\u2028d", "a\nb\nc\nd"],
    ["letters and emoji that are joined", "می‌خواهم 👩‍👩‍👧", "می‌خواهم 👩‍👩‍👧"],
  ])("spells out or keeps %s", (_, text, expected) => {
    expect(toEditable(text)).toBe(expected);
  });

  test("holds nothing that drives a terminal, whatever it was made of", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(toEditable(text)).not.toMatch(/(?!\n)\p{Cc}/u);
      }),
    );
  });

  test("gives tabs back as they were, and leaves spaces alone", () => {
    const unit = fc.constantFrom("\t", " ", "    ", "a", "\n");
    fc.assert(
      fc.property(fc.string({ unit }), (text) => {
        expect(fromEditable(toEditable(text))).toBe(text);
      }),
    );
  });

  test("a tab that was deleted in part is spaces", () => {
    expect(fromEditable(toEditable("a\tb").replace(/.b/u, "b"))).toBe("a   b");
  });
});

test.each([
  ["src/a b.ts", true],
  ["zz\u001B]0;title\u0007.txt", false],
  ["two\nlines", false],
  ["txt.\u202Eexe", false],
])("%j can be put into the editor as it is: %s", (name, expected) => {
  expect(isEditable(name)).toBe(expected);
});
