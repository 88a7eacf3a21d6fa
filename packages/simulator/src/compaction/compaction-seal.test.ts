import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { someText } from "../../../../test/fixture/compacted.ts";
import { shortHash } from "../prompt/canonical-block.ts";
import { CompactionSeal } from "./compaction-seal.ts";

const past = fc.record({ model: fc.string(), chain: fc.string(), header: fc.string() });

describe("the seal of a compaction", () => {
  it("gives back the past that was sealed, whatever it is", () => {
    fc.assert(
      fc.property(fc.string(), past, (content, sealed) => {
        const seal = new CompactionSeal(1);
        const opened = seal.open(seal.seal({ content, toolChanges: [] }, sealed));
        expect(opened).toEqual({ ...sealed, content: shortHash(content), changes: someText });
      }),
    );
  });

  it("is not opened by another seed, nor once any of it is changed", () => {
    const sealed = new CompactionSeal(1).seal(
      { content: "So far.", toolChanges: [] },
      { model: "m", chain: "c", header: "h" },
    );
    expect(new CompactionSeal(2).open(sealed)).toBeUndefined();
    const fields = Object.entries(JSON.parse(Buffer.from(sealed, "base64").toString("utf8")) as Record<string, string>);
    for (const [name, value] of fields) {
      const altered = Object.fromEntries([...fields, [name, `${value}x`]]);
      const source = Buffer.from(JSON.stringify(altered)).toString("base64");
      expect(new CompactionSeal(1).open(source), name).toBeUndefined();
    }
  });

  it.each(["", "no base64!", "e30=", "W10="])("is none in %j", (source) => {
    expect(new CompactionSeal(1).open(source)).toBeUndefined();
  });
});
