import * as fc from "fast-check";
import { expect, test } from "vitest";
import { LineSplitter } from "./process-transport.ts";

test("however a text is cut into chunks, its lines are the same", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "grapheme" })), fc.array(fc.nat(9)), (texts, sizes) => {
      const expected = texts.map((one) => one.replaceAll(/[\r\n]/g, ""));
      let rest = Buffer.from(expected.map((one) => `${one}\n`).join(""));
      const lines = new LineSplitter(1_000_000);
      const seen: string[] = [];
      for (const size of [...sizes, rest.length]) {
        const added = lines.add(rest.subarray(0, size));
        if (added !== "too-long") seen.push(...added);
        rest = rest.subarray(size);
      }
      expect(seen).toEqual(expected);
    }),
  );
});

test("a line without an end is given up at the limit, and not kept", () => {
  const lines = new LineSplitter(10);
  expect(lines.add(Buffer.from("0123456789"))).toEqual([]);
  expect(lines.add(Buffer.from("x"))).toBe("too-long");
  expect(lines.add(Buffer.from("next\n"))).toEqual(["next"]);
});
