import { describe, expect, test } from "vitest";
import { createTheme } from "../theme.ts";
import { cutLineCharsMax } from "../limits.ts";
import { cutLine, fitLine } from "./wrap-text.ts";
import { sanitizeExceptColours, sanitizeLine, sanitizeText } from "./sanitize-text.ts";

describe("a text of others drives nothing", () => {
  test.each<[string, string, string]>([
    ["colours go", "\u001B[1;31mred\u001B[0m", "red"],
    ["other sequences can be seen", "a\u001B[2Jb\u009B", "a\\x1b[2Jb\\x9b"],
    ["so can what reorders and hides", "a\u202Eb\u200Bc\u2028d\u3164", "a<U+202E>b<U+200B>c<U+2028>d<U+3164>"],
    ["every line break is one", "a\r\nb\rc\nd", "a\nb\nc\nd"],
    ["a tab is spaces", "a\tb", "a    b"],
    ["half a character is a sign for it", "a\uD83Db", "a\uFFFDb"],
    ["emoji stay whole", "👩‍💻 👍🏽 ❤️ 🏳️‍🌈", "👩‍💻 👍🏽 ❤️ 🏳️‍🌈"],
    ["letters that need a joiner stay joined", "می\u200Cخواهم", "می\u200Cخواهم"],
    ["a joiner between others is seen", "pay\u200Dpal 👩\u200D ", "pay<U+200D>pal 👩<U+200D> "],
  ])("%s", (_, text, shown) => {
    expect(sanitizeText(text)).toBe(shown);
  });
});

test("what takes one line has one, and single spaces", () => {
  expect(sanitizeLine("  a\n\tb\r\n c ")).toBe("a b c");
});

test("colours of ours stay where others are quoted", () => {
  expect(sanitizeExceptColours("\u001B[31ma\u001B[2Jb\u001B[39m")).toBe("\u001B[31ma\\x1b[2Jb\u001B[39m");
});

describe("a line that is too wide", () => {
  const none = { width: 10, theme: createTheme("none") };
  const ansi = { width: 10, theme: createTheme("ansi") };

  test("is cut with a sign, at whole characters", () => {
    expect(fitLine("漢字漢字漢字漢字", none)).toBe("漢字漢字…");
    expect(fitLine("0123456789", none)).toBe("0123456789");
    expect(fitLine("0123456789a", none)).toBe("012345678…");
  });

  test("closes its colours, and has none where there are none", () => {
    expect(cutLine(ansi.theme.bad("0123456789a"), ansi)).toBe("\u001B[31m012345678\u001B[0m…\u001B[0m");
    expect(cutLine(ansi.theme.bad("0123456789a"), none)).toBe("012345678…");
  });

  test("is not looked at to its end, and no sequence of it is cut in two", () => {
    const far = `${"\u001B[31m".repeat(cutLineCharsMax / 5 - 1)}abcd\u001B[39m more`;
    expect(cutLine(far, none)).toBe("abcd");
  });
});
