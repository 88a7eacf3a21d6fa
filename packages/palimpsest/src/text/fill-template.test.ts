import * as fc from "fast-check";
import { expect, it } from "vitest";
import { escapeRegExp } from "./fill-template.ts";

it.each(["", "g", "u", "v"])("any text matches itself and nothing more, with the flags %j", (flags) => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (text, other) => {
      const whole = new RegExp(`^(?:${escapeRegExp(text)})$`, flags);
      expect(whole.test(text)).toBe(true);
      expect(new RegExp(`^(?:${escapeRegExp(text)})$`, flags).test(other)).toBe(text === other);
    }),
  );
});
