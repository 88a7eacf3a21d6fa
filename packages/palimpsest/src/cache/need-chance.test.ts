import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  findAgeBand,
  ageBandsRoundsMin,
  type NeedCount,
  type NeedTable,
  needToolKinds,
  findSizeBand,
  sizeBandsTokensMax,
} from "./need-bands.ts";
import { chanceIn, computeChances, needChance, needToolKind } from "./need-chance.ts";
import { needTable } from "./need-table.data.ts";

const filled = (count: NeedCount): readonly (readonly NeedCount[])[] =>
  sizeBandsTokensMax.map(() => ageBandsRoundsMin.map(() => count));
const none = { needed: 0, seen: 0 };
const tableWith = (parts: Partial<NeedTable>): NeedTable => ({
  read: filled(none),
  shell: filled(none),
  search: filled(none),
  change: filled(none),
  other: filled(none),
  ...parts,
});

describe("bands", () => {
  it.each([
    [0, 0],
    [500, 0],
    [501, 1],
    [2_000, 1],
    [8_000, 2],
    [8_001, 3],
    [1e6, 3],
  ])("a result of %i tokens is in size band %i", (tokens, band) => {
    expect(findSizeBand(tokens)).toBe(band);
  });

  it.each([
    [-1, 0],
    [2, 0],
    [3, 1],
    [10, 2],
    [11, 3],
    [50, 4],
    [51, 5],
    [9_999, 5],
  ])("an age of %i rounds is in band %i", (rounds, band) => {
    expect(findAgeBand(rounds)).toBe(band);
  });
});

describe("chancesOf", () => {
  const at = { kind: "read", tokens: 100, ageRounds: 4 } as const;

  it("comes near the counted share where much was seen", () => {
    const chances = computeChances(tableWith({ read: filled({ needed: 3_000, seen: 10_000 }) }));
    expect(chanceIn(chances, at)).toBeCloseTo(0.3, 2);
  });

  it("leans on the other sizes of its kind where little was seen", () => {
    const read = filled({ needed: 2_000, seen: 10_000 }).with(
      0,
      ageBandsRoundsMin.map(() => ({ needed: 2, seen: 2 })),
    );
    expect(chanceIn(computeChances(tableWith({ read })), at)).toBeCloseTo((2 + 20 * 0.2) / 22, 2);
  });

  it("leans on the other kinds where nothing of its own was seen", () => {
    const chances = computeChances(tableWith({ shell: filled({ needed: 100, seen: 10_000 }) }));
    expect(chanceIn(chances, at)).toBeCloseTo(0.01, 2);
  });

  it("is never certain, whatever was counted", () => {
    const count = fc
      .tuple(fc.nat(1_000), fc.nat(1_000))
      .map(([needed, rest]): NeedCount => ({ needed, seen: needed + rest }));
    fc.assert(
      fc.property(count, count, (one, other) => {
        const chances = computeChances(tableWith({ read: filled(one), other: filled(other) }));
        for (const kind of needToolKinds)
          for (const chance of chances[kind].flat()) {
            expect(chance).toBeGreaterThan(0);
            expect(chance).toBeLessThan(1);
          }
      }),
    );
  });
});

describe("needChance", () => {
  it("has a cell for every kind, size and age, and no cell needs more than it saw", () => {
    for (const kind of needToolKinds) {
      expect(needTable[kind]).toHaveLength(sizeBandsTokensMax.length);
      for (const ages of needTable[kind]) {
        expect(ages).toHaveLength(ageBandsRoundsMin.length);
        expect(ages.every(({ needed, seen }) => needed <= seen)).toBe(true);
      }
    }
  });

  it("fears most for large reads, little for commands and next to nothing for edits", () => {
    const of = (tool: string): number => needChance({ tool, tokens: 5_000, ageRounds: 4 });
    expect(of("Read")).toBeGreaterThan(3 * of("Bash"));
    expect(of("Bash")).toBeGreaterThan(of("Edit"));
  });

  it("fears less the longer a read was not used", () => {
    const of = (ageRounds: number): number => needChance({ tool: "read_file", tokens: 5_000, ageRounds });
    expect(of(1)).toBeGreaterThan(of(8));
    expect(of(8)).toBeGreaterThan(of(60));
  });
});

describe("needKindOf", () => {
  it.each([
    ["Read", "read"],
    ["read_many_files", "read"],
    ["str_replace_editor", "read"],
    ["Bash", "shell"],
    ["exec_command", "shell"],
    ["Grep", "search"],
    ["WebFetch", "search"],
    ["MultiEdit", "change"],
    ["create_file", "change"],
    ["mcp__browser__read", "other"],
    ["constructor", "other"],
  ])("%s is of kind %s", (tool, kind) => {
    expect(needToolKind(tool)).toBe(kind);
  });
});
