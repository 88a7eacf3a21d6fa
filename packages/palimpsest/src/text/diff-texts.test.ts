import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { diffContextLines, diffLinesMax, diffStepsMax } from "./limits.ts";
import { type Diff, type DiffLine, diffTexts, diffLines } from "./diff-texts.ts";

const signs = { same: " ", removed: "-", added: "+" } as const;
const numbers = (line: DiffLine): string =>
  line.kind === "same"
    ? `${line.oldLine}/${line.newLine}`
    : String(line.kind === "added" ? line.newLine : line.oldLine);
const drawn = ({ hunks }: Diff): readonly string[] =>
  hunks.flatMap((hunk, index) => [
    ...(index === 0 ? [] : ["~"]),
    ...hunk.map((line) => `${signs[line.kind]}${numbers(line)} ${line.text}`),
  ]);

describe("a unified diff", () => {
  test.each<[string, string, string, readonly string[]]>([
    ["of the same text is empty", "a\nb", "a\nb", []],
    ["shows a replaced line with its surroundings", "a\nb\nc", "a\nX\nc", [" 1/1 a", "-2 b", "+2 X", " 3/3 c"]],
    ["shows what is removed of a change first", "a\nb", "X\nY", ["-1 a", "-2 b", "+1 X", "+2 Y"]],
    ["of a new text has only added lines", "", "a\nb\n", ["+1 a", "+2 b"]],
    ["shows an empty line as one", "", "\n", ["+1 "]],
    ["of a text that is emptied has only removed lines", "a\nb", "", ["-1 a", "-2 b"]],
    ["does not show the line break that both end with", "a\n", "b\n", ["-1 a", "+1 b"]],
    ["shows a line break at the end that only one has", "a", "a\n", [" 1/1 a", "+2 "]],
    [
      "leaves out what is far from a change",
      "1\n2\n3\n4\n5\nx",
      "1\n2\n3\n4\n5\ny",
      [" 3/3 3", " 4/4 4", " 5/5 5", "-6 x", "+6 y"],
    ],
    [
      "makes one hunk of changes whose surroundings touch, and two where something lies between",
      "x\n1\n2\n3\n4\n5\n6\ny\n1\n2\n3\n4\n5\n6\n7\nz",
      "X\n1\n2\n3\n4\n5\n6\nY\n1\n2\n3\n4\n5\n6\n7\nZ",
      [
        ..."-1 x|+1 X| 2/2 1| 3/3 2| 4/4 3| 5/5 4| 6/6 5| 7/7 6|-8 y|+8 Y| 9/9 1| 10/10 2| 11/11 3".split("|"),
        "~",
        ..." 13/13 5| 14/14 6| 15/15 7|-16 z|+16 Z".split("|"),
      ],
    ],
  ])("%s", (_, before, after, expected) => {
    expect(drawn(diffTexts({ before, after }))).toEqual(expected);
  });

  test("counts what was added and removed, of hunks and beyond", () => {
    expect(diffTexts({ before: "a\nb\nc", after: "a\nX\nY\nc" })).toMatchObject({ added: 2, removed: 1 });
  });

  test("takes more differences than it looks for as a replacement, between the common beginning and end", () => {
    const lines = (word: string): string =>
      Array.from({ length: diffStepsMax }, (_, n) => `${word}${n}\nshared${n}`).join("\n");
    const { added, removed, hunks } = diffTexts({
      before: `top\n${lines("a")}\nend`,
      after: `top\n${lines("b")}\nend`,
    });
    expect({ added, removed }).toEqual({ added: 2 * diffStepsMax - 1, removed: 2 * diffStepsMax - 1 });
    expect(hunks[0]?.[0]).toEqual({ kind: "same", text: "top", oldLine: 1, newLine: 1 });
  });

  test("compares no text of more lines than the limit", () => {
    const long = "a\n".repeat(diffLinesMax + 1);
    expect(diffTexts({ before: long, after: `${long}b` }).removed).toBe(diffLinesMax + 2);
  });
});

const few = fc.array(fc.constantFrom("a", "b", "c", ""), { maxLength: 12 });

/** By the table, for short lists. */
function commonest(one: readonly string[], other: readonly string[]): number {
  const best = (i: number, j: number): number => {
    if (i === one.length || j === other.length) return 0;
    return one[i] === other[j] ? 1 + best(i + 1, j + 1) : Math.max(best(i + 1, j), best(i, j + 1));
  };
  return best(0, 0);
}

describe("laws of the steps", () => {
  test("without what was added they are the old lines, without what was removed the new ones", () => {
    fc.assert(
      fc.property(few, few, (old, fresh) => {
        const steps = diffLines(old, fresh);
        expect(steps.filter(({ kind }) => kind !== "added").map(({ text }) => text)).toEqual(old);
        expect(steps.filter(({ kind }) => kind !== "removed").map(({ text }) => text)).toEqual(fresh);
      }),
    );
  });

  test("of each change have first what is removed", () => {
    fc.assert(
      fc.property(few, few, (old, fresh) => {
        const kinds = diffLines(old, fresh).map(({ kind }) => kind);
        expect(kinds.some((kind, index) => kind === "removed" && kinds[index - 1] === "added")).toBe(false);
      }),
    );
  });

  test("keep as many lines as any way could", () => {
    const short = fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 8 });
    fc.assert(
      fc.property(short, short, (old, fresh) => {
        expect(diffLines(old, fresh).filter(({ kind }) => kind === "same")).toHaveLength(commonest(old, fresh));
      }),
    );
  });

  test("no hunk begins or ends with more than its surroundings, and every change stands in one", () => {
    fc.assert(
      fc.property(few, few, (old, fresh) => {
        const { hunks, added, removed } = diffTexts({ before: old.join("\n"), after: fresh.join("\n") });
        expect(hunks.flat().filter(({ kind }) => kind !== "same")).toHaveLength(added + removed);
        for (const hunk of hunks) {
          const first = hunk.findIndex(({ kind }) => kind !== "same");
          const last = hunk.findLastIndex(({ kind }) => kind !== "same");
          expect(first).toBeLessThanOrEqual(diffContextLines);
          expect(hunk.length - 1 - last).toBeLessThanOrEqual(diffContextLines);
        }
      }),
    );
  });
});
