import { describe, expect, it } from "vitest";
import { toolUseId } from "../schema/brand.ts";
import { GoneResults } from "./gone-results.ts";

const one = toolUseId("one");
const two = toolUseId("two");

describe("results that are gone", () => {
  it("are fetched once each, those that are needed and gone", () => {
    const gone = new GoneResults();
    gone.cleared(one, 700);
    gone.left(two, 900);
    expect(gone.fetch([toolUseId("shown")])).toEqual([]);
    expect(gone.fetch([one])).toEqual([700]);
    expect(gone.fetch([one, two])).toEqual([900]);
    expect(gone.fetched).toBe(2);
  });

  it("make requests smaller by what was cleared since the last compaction, not by what was never sent whole", () => {
    const gone = new GoneResults();
    gone.left(one, 900);
    expect(gone.clearedTokens).toBe(0);
    gone.cleared(two, 700);
    expect(gone.clearedTokens).toBe(700);
    gone.compacted();
    expect(gone.clearedTokens).toBe(0);
    expect(gone.fetch([two])).toEqual([700]);
  });
});
