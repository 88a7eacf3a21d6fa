import * as fc from "fast-check";
import { expect, it } from "vitest";
import { countVisibleChars, splitForTyping } from "./narrator.ts";

// eslint-disable-next-line no-control-regex -- sequences begin with a control character
const halfSequence = /\u001B\[?\d*$/;
const bold = "\u001B[1mab\u001B[22mc";

it("a sequence comes with the character behind it and is no character", () => {
  expect(splitForTyping(bold, 1)).toEqual(["\u001B[1ma", "b", "\u001B[22mc"]);
  expect(countVisibleChars(`  ${bold}\n`)).toBe(3);
});

it("the pieces make up the text, none is empty, and no sequence or character is cut in two", () => {
  const part = fc.oneof(
    fc.string({ unit: "grapheme" }),
    fc.constantFrom("\u001B[31m", "\u001B[39m", "\u001B]8;;x\u0007"),
  );
  fc.assert(
    fc.property(fc.array(part), fc.integer({ min: 1, max: 9 }), (parts, charsAtOnce) => {
      const text = parts.join("");
      const pieces = splitForTyping(text, charsAtOnce);
      expect(pieces.join("")).toBe(text);
      expect(pieces.every((piece) => piece !== "" && piece.isWellFormed() && !halfSequence.test(piece))).toBe(true);
    }),
  );
});
