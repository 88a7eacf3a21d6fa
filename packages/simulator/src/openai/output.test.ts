import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ItemSeal } from "./output.ts";

const seal = new ItemSeal(7);

describe("a sealed item", () => {
  it("opens to what was put in, shows nothing of it, and is the same each time", () => {
    fc.assert(
      fc.property(fc.string(), (thought) => {
        const text = seal.close("reasoning", { thought });
        expect(seal.open("reasoning", text)).toEqual({ thought });
        expect(new ItemSeal(7).close("reasoning", { thought })).toBe(text);
      }),
    );
    const secret = Buffer.from("heron").toString("base64url").slice(0, 6);
    expect(seal.close("reasoning", { thought: "heron" })).not.toContain(secret);
  });

  it("opens for nobody who changed one character of it", () => {
    const text = seal.close("compaction", { summary: "All is well." });
    fc.assert(
      fc.property(fc.nat(text.length - 1), fc.constantFrom("A", "b", "_", "é"), (at, other) => {
        fc.pre(text[at] !== other);
        expect(seal.open("compaction", text.slice(0, at) + other + text.slice(at + 1))).toBeUndefined();
      }),
    );
  });

  it.each([
    ["another seed", new ItemSeal(8).close("compaction", { summary: "x" })],
    ["another kind", seal.close("reasoning", { thought: "x" })],
    ["nothing", ""],
    ["somebody else's", "gAAAAABk"],
  ])("of %s does not open", (_, text) => {
    expect(seal.open("compaction", text)).toBeUndefined();
  });
});
