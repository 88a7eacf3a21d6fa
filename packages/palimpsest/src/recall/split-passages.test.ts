import * as fc from "fast-check";
import { expect, it } from "vitest";
import { passageChars } from "./limits.ts";
import { splitPassages } from "./split-passages.ts";

it("passages are the whole text in order, none longer than the limit, none empty, none with half a character", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom("\n", " ", "x", "🦓"), fc.nat(900))), (runs) => {
      const text = runs.map(([character, count]) => `${"y".repeat(count)}${character}`).join("");
      const passages = [...splitPassages(text)];
      expect(passages.map(({ from, to }) => text.slice(from, to)).join("")).toBe(text);
      for (const { from, to } of passages) {
        expect(to - from).toBeGreaterThan(0);
        expect(to - from).toBeLessThanOrEqual(passageChars);
        expect(text.slice(from, to).isWellFormed()).toBe(true);
      }
    }),
  );
});

it("no line is cut that fits into a passage", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(passageChars - 1), { maxLength: 20 }), (lengths) => {
      const text = lengths.map((length) => `${"y ".repeat(length).slice(0, length)}\n`).join("");
      for (const { to } of splitPassages(text)) expect(text[to - 1]).toBe("\n");
    }),
  );
});
