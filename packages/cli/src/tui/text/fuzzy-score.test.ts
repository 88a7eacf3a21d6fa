import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bestMatches, fuzzyScore } from "./fuzzy-score.ts";

describe("the best match", () => {
  test.each<[string, readonly string[]]>([
    ["main", ["src/cli/main.ts", "src/domain.ts", "main/other.ts"]],
    ["cm", ["src/cli/main.ts", "docs/scheme.md"]],
    ["MAIN", ["src/main.ts", "src/m-a-i-n.ts"]],
    ["toolset", ["src/tool/toolset.ts", "src/tool/toolset.test.ts", "test/old-toolset.ts"]],
    ["src/ed", ["src/edit.ts", "src/a/red.ts"]],
  ])("for %j comes first: %j", (typed, names) => {
    expect(bestMatches({ typed, names: names.toReversed(), most: 10 })).toEqual(names);
  });

  test("for nothing typed is the shortest name", () => {
    expect(bestMatches({ typed: "", names: ["bb", "a", "ab"], most: 2 })).toEqual(["a", "ab"]);
  });
});

const letters = fc.string({ unit: fc.constantFrom("a", "b", "c", "/", "-"), maxLength: 8 });

/** By the definition: letter after letter, each behind the one before. */
function isWithin(typed: string, name: string): boolean {
  let at = 0;
  for (const letter of name) if (letter === typed[at]) at += 1;
  return at === typed.length;
}

describe("laws", () => {
  test("a name matches where it has the letters in their order, and only there", () => {
    fc.assert(
      fc.property(letters, letters, (typed, name) => {
        expect(fuzzyScore(typed, name) !== undefined).toBe(isWithin(typed, name));
      }),
    );
  });

  test("the best few are the first of all, whatever order they come in", () => {
    fc.assert(
      fc.property(
        letters,
        fc.array(letters, { maxLength: 20 }),
        fc.integer({ min: 1, max: 5 }),
        (typed, names, most) => {
          const all = bestMatches({ typed, names, most: names.length + 1 });
          expect(bestMatches({ typed, names: names.toReversed(), most })).toEqual(all.slice(0, most));
        },
      ),
    );
  });

  test("what no longer matches never matches again with more letters", () => {
    fc.assert(
      fc.property(letters, letters, letters, (typed, more, name) => {
        if (fuzzyScore(typed, name) === undefined) expect(fuzzyScore(typed + more, name)).toBeUndefined();
      }),
    );
  });
});
