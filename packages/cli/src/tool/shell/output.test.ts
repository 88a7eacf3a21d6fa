import * as fc from "fast-check";
import { expect, test } from "vitest";
import { OutputBuffer } from "./run-shell.ts";

test("gives the bytes back while they fit, and their two ends when they do not", () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: "grapheme-ascii", maxLength: 30 })),
      fc.integer({ min: 2, max: 60 }),
      (parts, most) => {
        const output = new OutputBuffer(most);
        for (const part of parts) output.add(Buffer.from(part));
        const whole = parts.join("");
        const half = Math.floor(most / 2);
        const expected =
          whole.length <= 2 * half
            ? whole
            : `${whole.slice(0, half)}\n… (${whole.length - 2 * half} bytes left out) …\n${whole.slice(-half)}`;
        expect(output.text()).toBe(expected);
      },
    ),
  );
});

test("holds its two ends and at most a chunk more, however much comes", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 100 }),
      fc.integer({ min: 2, max: 60 }),
      (sizes, most) => {
        const output = new OutputBuffer(most);
        for (const size of sizes) {
          output.add(Buffer.alloc(size, "x"));
          expect(output.heldBytes).toBeLessThan(most + Math.max(...sizes));
        }
      },
    ),
  );
});
