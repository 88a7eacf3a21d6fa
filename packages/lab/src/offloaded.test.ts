import { describe, expect, it } from "vitest";
import { entryOf } from "../../../test/fixture/raw.ts";
import type { OffloadRule } from "palimpsest/internal/layers/policy";
import { offloadArrivals } from "./cost-session.ts";

const rule: OffloadRule = {
  resultCharsMax: 10_000,
  hardCharsMax: 100_000,
  toolsOwn: "counts",
  roundCharsMax: 25_000,
  preview: { of: "characters", length: 40, shows: "head" },
};
const answers = (...chars: readonly number[]) => [
  entryOf({
    type: "user",
    uuid: "u1",
    message: {
      content: chars.map((count, at) => ({ type: "tool_result", tool_use_id: `t${at}`, content: "x".repeat(count) })),
    },
  }),
];
const offloaded = (given: OffloadRule | undefined, ...chars: readonly number[]): string[] =>
  offloadArrivals(given, answers(...chars)).map(({ toolUse }) => toolUse);

describe("what is offloaded as it comes", () => {
  it.each<[string, OffloadRule | undefined, readonly number[], readonly string[]]>([
    ["results over the limit", rule, [9_000, 10_001], ["t1"]],
    ["the largest of a round that is too large together", rule, [9_000, 9_500, 9_000], ["t1"]],
    ["nothing under a policy that does not offload", undefined, [90_000], []],
    ["nothing where nothing came", rule, [], []],
  ])("are %s", (_, given, chars, expected) => {
    expect(offloaded(given, ...chars)).toEqual(expected);
  });

  it("is shown by its beginning and its length", () => {
    const [one] = offloadArrivals(rule, answers(50_000));
    expect(one?.shown).toContain("50000 characters");
    expect(one?.shown).toContain(`\n${"x".repeat(40)}\n`);
    expect(one?.shown).not.toContain("x".repeat(41));
    expect(one?.content.tool_use_id).toBe("t0");
  });
});
