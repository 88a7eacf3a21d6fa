import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseJson, wellFormedJson } from "./json.ts";

describe("JSON that every parser takes", () => {
  it.each([
    ["half a pair in a text", "a\uD83Db", '"a\uFFFDb"'],
    ["two halves in the wrong order", "\uDE00\uD83D", '"\uFFFD\uFFFD"'],
    ["a half in a key", { "\uD83D": 1 }, '{"\uFFFD":1}'],
    ["a half deep inside", [{ a: ["\uDC00"] }], '[{"a":["\uFFFD"]}]'],
    ["a half behind a backslash", "\\\uD83D", String.raw`"\\` + '\uFFFD"'],
  ])("has the sign for a missing character in place of %s", (_, value, json) => {
    expect(wellFormedJson(value)).toBe(json);
  });

  it.each([
    ["a whole pair", "\u{1F600}"],
    ["a text about an escape", String.raw`\ud83d`],
    ["a text about an escape behind a backslash", String.raw`\\\ud83d`],
    ["a control character", "\u0000\n"],
  ])("is what JSON.stringify gives for %s", (_, value) => {
    expect(wellFormedJson({ value })).toBe(JSON.stringify({ value }));
  });

  it("says what each text says, made well-formed, whatever surrogates and backslashes stand in it", () => {
    const unit = fc.constantFrom("\\", "u", "d", "8", "3", '"', "\uD83D", "\uDE00", "a");
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 12 }), (units) => {
        const text = units.join("");
        const json = wellFormedJson([text]);
        expect(json.isWellFormed()).toBe(true);
        expect(parseJson(json)).toEqual([text.toWellFormed()]);
      }),
    );
  });
});
