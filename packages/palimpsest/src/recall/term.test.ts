import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { eachTerm, collectTerms } from "./term.ts";

const shared = (one: string, two: string): number => {
  const terms = new Set(collectTerms(two));
  return collectTerms(one).filter((term) => terms.has(term)).length;
};

describe("terms", () => {
  it.each([
    ["forward", "scanForward", "a part of a camel-case name"],
    ["scanforward", "scanForward", "the whole of it, in any case"],
    ["server", "HTTPServer", "what follows capitals"],
    ["http", "HTTPServer", "the capitals themselves"],
    ["bytes", "chunk_bytes", "a part of a snake-case name"],
    ["chunk_bytes", "chunk_bytes", "the whole of it"],
    ["init", "__init__", "a name between underscores"],
    ["scan.ts", "src/loop/scan.ts", "a file by its name"],
    ["src/loop/scan.ts", "see /src/loop/scan.ts:12", "a file by its path, whatever stands around it"],
    ["loop", "src\\loop\\scan.ts", "a folder on a path"],
    ["utf8", "utf8", "a word with a digit"],
    ["café", "CAFE", "a word whatever its accents"],
    ["cafe\u0301", "café", "an accent written by itself"],
    ["привет", "ПРИВЕТ", "Cyrillic in any case"],
    ["検索", "全文検索する", "two characters of a script without spaces"],
    ["索", "全文検索する", "one of them"],
    ["검색", "전문검색", "Hangul"],
    ["テスト", "ユニットテスト", "kana"],
    ["人々", "人々の声", "a mark that repeats a character"],
    ["𠮷野", "𠮷野家", "a character of two halves"],
    ["done", "done🎉", "a word that a pictograph follows"],
    ["🎉", "done🎉🦓", "a pictograph among others"],
    ["نعم", "نعم؟", "a word that a sign of its own script follows"],
  ])("%s finds %s: %s", (query, text) => {
    expect(shared(query, text)).toBe(collectTerms(query).length);
  });

  it.each([
    ["for", "scanForward"],
    ["索検", "検索"],
    ["a/b", "a b"],
    ["snakecase", "snake_case"],
    ["🦓", "🦒"],
    ["𠮷", "𠮟"],
  ])("%s is not the whole of %s", (query, text) => {
    expect(shared(query, text)).toBeLessThan(collectTerms(query).length);
  });

  it("a word of one part is one term, and a path one for each of its parts, its file and itself", () => {
    expect(collectTerms("word")).toHaveLength(1);
    expect(collectTerms("src/scan.ts")).toHaveLength(5);
    expect(collectTerms("… — «» 、。")).toHaveLength(0);
  });

  it("the terms of a text are those of its words, wherever it is cut between them", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (one, two) => {
        expect(collectTerms(`${one}\n${two}`)).toEqual([...new Set([...collectTerms(one), ...collectTerms(two)])]);
      }),
    );
  });

  it("ends lie within the range and never go back", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.nat(20), fc.nat(20), (text, start, length) => {
        const from = Math.min(start, text.length);
        const to = Math.min(from + length, text.length);
        let last = from;
        eachTerm({ text, from, to }, (_, end) => {
          expect(end).toBeGreaterThanOrEqual(last);
          expect(end).toBeLessThanOrEqual(to);
          last = end;
        });
      }),
    );
  });
});
