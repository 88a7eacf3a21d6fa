import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { differenceCharsMax, differenceContextChars } from "../limits.ts";
import { textDifference } from "./block-change.ts";

describe("textDifference", () => {
  it.each([
    [
      "a word in the middle",
      "the red fox",
      "the blue fox",
      { at: 4, before: "the ", old: "red", now: "blue", after: " fox" },
    ],
    ["something added", "ab", "axb", { at: 1, before: "a", old: "", now: "x", after: "b" }],
    ["something gone", "aaa", "aa", { at: 2, before: "aa", old: "a", now: "", after: "" }],
    ["everything", "a", "b", { at: 0, before: "", old: "a", now: "b", after: "" }],
    ["one half of a character", "x😀y", "x😁y", { at: 1, before: "x", old: "😀", now: "😁", after: "y" }],
    [
      "the other half of a character",
      "x\u{1F600}y",
      "x\u{1FA00}y",
      { at: 1, old: "\u{1F600}", now: "\u{1FA00}", after: "y" },
    ],
  ])("%s", (_, old, now, difference) => {
    expect(textDifference(old, now)).toMatchObject(difference);
  });

  it("is nothing where nothing differs", () => {
    expect(textDifference("same", "same")).toBeUndefined();
  });

  it("is short, whatever the texts are, and never leaves half a character", () => {
    const anyText = fc.string({ unit: "binary", maxLength: 400, size: "+1" });
    fc.assert(
      fc.property(anyText, anyText, anyText, anyText, (start, old, now, end) => {
        const difference = textDifference(`${start}${old}${end}`, `${start}${now}${end}`);
        if (difference === undefined) return;
        const parts = [difference.before, difference.old, difference.now, difference.after];
        for (const part of parts) expect(part.isWellFormed()).toBe(true);
        expect(Math.max(difference.before.length, difference.after.length)).toBeLessThanOrEqual(
          differenceContextChars + 1,
        );
        expect(Math.max(difference.old.length, difference.now.length)).toBeLessThanOrEqual(differenceCharsMax + 3);
      }),
    );
  });
});
