import { describe, expect, it } from "vitest";
import { toPrintable } from "./to-printable.ts";

describe("text that may stand on a terminal", () => {
  it.each([
    ["a family", "\u{1F468}\u200D\u{1F469}\u200D\u{1F467}"],
    ["a picture with a tone and a sign", "\u{1F926}\u{1F3FD}\u200D\u2642\uFE0F"],
    ["a heart on fire", "\u2764\uFE0F\u200D\u{1F525}"],
    ["Persian", "\u0645\u06CC\u200C\u062E\u0648\u0627\u0647\u0645"],
    ["Devanagari", "\u0915\u094D\u200D\u0937"],
    ["line ends and tabs", "a\n\tb"],
  ])("keeps what joins: %s", (_, text) => {
    expect(toPrintable(text)).toBe(text);
  });

  it.each([
    ["rm\u200D -rf", "rm<U+200D> -rf"],
    ["\u{1F468}\u200Dx", "\u{1F468}<U+200D>x"],
    ["a\u202Eb", "a<U+202E>b"],
    ["a\u2028b", "a<U+2028>b"],
    ["\u001B[2J\r", "\\x1b[2J\\x0d"],
  ])("shows what hides, moves or drives as its code: %j", (text, shown) => {
    expect(toPrintable(text)).toBe(shown);
  });
});
