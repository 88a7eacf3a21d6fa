import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parametersFor } from "../../../../../test/property/runs.ts";
import { tokens } from "../../schema/brand.ts";
import { createExcerpt, omissionMark } from "./quote.ts";
import type { CountText } from "../clip-text.ts";
import { excerptTokensMin } from "./limits.ts";

const count: CountText = (text) => tokens(Math.ceil(text.length / 4));
const prose = (lines: number): string => Array.from({ length: lines }, () => "The bells of the tower ring.").join("\n");
const longText = (middle: string): string => `Mend the clock.\n${prose(200)}\n${middle}\n${prose(200)}\nThank you.`;
const cut = (text: string, tokensMax = 1_000): string => createExcerpt(text, { tokensMax, count });

describe("an excerpt of a long text", () => {
  it("has its head, its tail, and how much lies between", () => {
    const text = longText("A quiet line.");
    const [head = "", left = "", tail = ""] = cut(text).split(/\n?\[… (\d+) characters left out …\]\n?/);
    expect(text.startsWith(head)).toBe(true);
    expect(text.endsWith(tail)).toBe(true);
    expect(head.length + Number(left) + tail.length).toBe(text.length);
  });

  it.each<[string, string, boolean]>([
    ["what is ruled out", "You must never oil the hands.", true],
    ["what is wanted instead", "Take brass instead of copper.", true],
    ["not what only tells", "The hands were oiled in spring.", false],
    ["not code", "```\nif (must) never();\n```", false],
  ])("keeps of its middle %s", (_, middle, isKept) => {
    expect(cut(longText(middle)).includes(middle)).toBe(isKept);
  });

  it.each<[string, string]>([
    ["a path", "src/clock/hands.ts"],
    ["a file", "tower.yaml"],
    ["a flag", "--dry-run"],
    ["an identifier", "windTheClock"],
    ["another one", "wind_clock"],
    ["a number", "8080"],
  ])("names of what it leaves out %s", (_, name) => {
    expect(cut(longText(`It is about ${name}, as was said.`))).toContain(`characters left out, with ${name} …]`);
  });

  it("does not name what it shows", () => {
    const excerpt = cut(longText("About --dry-run.").replace("Mend the clock.", "Mend it with --dry-run."));
    expect(excerpt.split("--dry-run")).toHaveLength(2);
  });

  it("keeps nothing of the middle where it is short itself", () => {
    const text = longText("You must never oil --hands.");
    expect(cut(text, excerptTokensMin - 1)).not.toContain("hands");
  });

  it("never has more than its tokens and one mark, and nothing but the text's own words between marks", () => {
    const settling = `You must not ${"oil the hands ".repeat(20)}`;
    const names = Array.from({ length: 30 }, (_, at) => `src/hand_${at}.ts`).join(" ");
    const line = fc.oneof(fc.string({ maxLength: 80 }), fc.constantFrom(settling, names, "```", ""));
    fc.assert(
      fc.property(
        fc.array(line, { minLength: 40, maxLength: 200, size: "max" }),
        fc.integer({ min: 1, max: 1_500 }),
        (lines, tokensMax) => {
          const text = lines.join("\n").replaceAll("[…", "");
          if (count(text) <= tokensMax) return;
          const excerpt = createExcerpt(text, { tokensMax, count });
          expect(count(excerpt)).toBeLessThanOrEqual(tokensMax + count(omissionMark(999_999_999)) + 2);
          let from = 0;
          for (const part of excerpt.split(/\n?\[… \d+ characters left out[^\n]* …\](?:\n|$)/)) {
            const at = text.indexOf(part, from);
            expect(at).not.toBe(-1);
            from = at;
          }
        },
      ),
      parametersFor({ quick: 200, long: 10_000 }),
    );
  });
});
