import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { imagePart } from "../../../../../test/fixture/image.ts";
import { parametersFor } from "../../../../../test/property/runs.ts";
import { type ToolUseId, toolUseId } from "../../schema/brand.ts";
import type { PolicyName } from "../../schema/policy-names.ts";
import { getPreset } from "../../policy/policy-catalogue.ts";
import { loggedCharsMax, shownCharsMax } from "./limits.ts";
import {
  type MeasuredResult,
  measureContent,
  type OffloadDecision,
  defaultOffloadLimits,
  resolveOffloadLimits,
  planOffload,
  countShownChars,
  unlimited,
} from "./plan.ts";

const runs = parametersFor({ quick: 300, long: 20_000 });
const limits = defaultOffloadLimits();
const none: ReadonlyMap<ToolUseId, OffloadDecision> = new Map();

const measured = (id: string, chars: number, more: Partial<MeasuredResult> = {}): MeasuredResult => ({
  toolUse: toolUseId(id),
  tool: "grep",
  holds: "text",
  chars,
  wholeChars: chars,
  ...more,
});

const words = (decisions: ReadonlyMap<ToolUseId, OffloadDecision>): Record<string, string> =>
  Object.fromEntries(
    [...decisions].map(([id, decision]) => [
      id,
      "why" in decision ? `${decision.kind}: ${decision.why}` : decision.kind,
    ]),
  );

const decide = (result: MeasuredResult, withLimits = limits): string | undefined =>
  words(planOffload({ results: [result], limits: withLimits, decided: none }))[result.toolUse];

describe("one result", () => {
  it.each<[string, MeasuredResult, string]>([
    ["is kept at 50,000 characters", measured("a", 50_000), "kept: fits"],
    ["goes at 50,001", measured("a", 50_001), "offloaded: result"],
    ["goes over its tool's own limit", measured("a", 30_001, { resultCharsMax: 30_000 }), "offloaded: result"],
    ["is kept within its tool's own, larger limit", measured("a", 99_999, { resultCharsMax: 100_000 }), "kept: fits"],
    ["is never kept over 400,000", measured("a", 400_001, { resultCharsMax: Infinity }), "offloaded: result"],
    ["is not offloaded where a preview would hold it all", measured("a", 2_000, { resultCharsMax: 10 }), "kept: fits"],
    ["of a tool that reads back is kept", measured("a", 300_000, { offload: "never" }), "kept: exempt"],
    ["that is empty is neither", measured("a", 0, { holds: "nothing" }), "empty"],
    ["with an image is kept", measured("a", 300_000, { holds: "image" }), "kept: image"],
    [
      "with an image goes where its text is over the hard limit",
      measured("a", 400_001, { holds: "image" }),
      "offloaded: result",
    ],
    [
      "that no line of the log could hold goes, whatever it is",
      measured("a", 10, { holds: "image", wholeChars: loggedCharsMax + 1 }),
      "offloaded: line",
    ],
  ])("%s", (_, result, expected) => {
    expect(decide(result)).toBe(expected);
  });

  it("settings say more of a tool than the tool itself", () => {
    const set = defaultOffloadLimits([{ id: "grep", resultCharsMax: 5_000 }]);
    expect(decide(measured("a", 5_001, { resultCharsMax: 60_000 }), set)).toBe("offloaded: result");
    expect(decide(measured("a", 5_001, { tool: "glob", resultCharsMax: 60_000 }), set)).toBe("kept: fits");
  });

  it.each<[PolicyName, number, number | undefined, string]>([
    ["palimpsest", 99_999, 100_000, "kept: fits"],
    ["palimpsest", 50_001, undefined, "offloaded: result"],
    ["claude-code-2026", 50_001, 100_000, "offloaded: result"],
    ["claude-code-2026", 30_001, 30_000, "offloaded: result"],
    ["claude-code-2.1", 400_000, undefined, "kept: fits"],
    ["claude-code-2.1", 400_001, undefined, "offloaded: result"],
    ["claude-code-2.1", 30_000, 30_000, "kept: fits"],
    ["claude-code-2.1", 30_001, 30_000, "offloaded: result"],
    ["claude-code-2.1", 400_001, 500_000, "offloaded: result"],
    ["opencode", 5_000_000, 30_000, "kept: fits"],
  ])("under %s, of %i characters with a tool's own limit of %s: %s", (policy, chars, resultCharsMax, expected) => {
    expect(decide(measured("a", chars, { resultCharsMax }), resolveOffloadLimits(getPreset(policy).offload))).toBe(
      expected,
    );
  });

  it("the default policy's limits are the layer's own", () => {
    expect(resolveOffloadLimits(getPreset("palimpsest").offload)).toMatchObject(limits);
  });

  it("switched off, only what no line could hold goes", () => {
    expect(decide(measured("a", 5_000_000), unlimited)).toBe("kept: fits");
    expect(decide(measured("a", 5_000_000, { resultCharsMax: 30_000 }), unlimited)).toBe("kept: fits");
    expect(decide(measured("a", loggedCharsMax + 1), unlimited)).toBe("offloaded: line");
  });
});

describe("measuring", () => {
  it.each([
    ["a text by its length", "😀b", { holds: "text", chars: 3, wholeChars: 3 }],
    ["blocks by their compact JSON", [{ type: "text", text: "ab" }], { holds: "text", chars: 29, wholeChars: 29 }],
    ["blanks as nothing", " \n", { holds: "nothing" }],
    ["no blocks as nothing", [], { holds: "nothing" }],
    ["blank blocks as nothing", [{ type: "text", text: " " }], { holds: "nothing" }],
    [
      "an image by nothing but the text beside it",
      [imagePart(), { type: "text", text: "ab" }],
      { holds: "image", chars: 29 },
    ],
    ["an image alone", [imagePart()], { holds: "image", chars: 0 }],
  ])("%s", (_, content, expected) => {
    expect(measureContent(content)).toMatchObject(expected);
  });
});

describe("a round", () => {
  it("of five results of 45,000 characters loses the one that comes first by id, and fits", () => {
    const results = ["e", "d", "c", "b", "a"].map((id) => measured(id, 45_000));
    expect(words(planOffload({ results, limits, decided: none }))).toEqual({
      a: "offloaded: round",
      b: "kept: fits",
      c: "kept: fits",
      d: "kept: fits",
      e: "kept: fits",
    });
  });

  it("loses its largest first", () => {
    const results = [
      measured("a", 30_000),
      measured("b", 49_000),
      ...["c", "d", "e"].map((id) => measured(id, 45_000)),
    ];
    expect(words(planOffload({ results, limits, decided: none }))).toMatchObject({
      a: "kept: fits",
      b: "offloaded: round",
    });
  });

  it("of exactly 200,000 characters is kept whole", () => {
    const results = ["a", "b", "c", "d"].map((id) => measured(id, 50_000));
    expect(Object.values(words(planOffload({ results, limits, decided: none })))).toEqual(Array(4).fill("kept: fits"));
  });

  it("keeps what is no longer than a preview, however many there are", () => {
    const results = Array.from({ length: 100 }, (_, at) => measured(`toolu_${at}`, shownCharsMax));
    expect(new Set(Object.values(words(planOffload({ results, limits, decided: none }))))).toEqual(
      new Set(["kept: fits"]),
    );
  });

  it("counts what is exempt, and what was sent, and touches neither", () => {
    const sent = measured("sent", 50_000);
    const results = [measured("read", 140_000, { offload: "never" }), sent, measured("new", 30_000)];
    const decided = new Map<ToolUseId, OffloadDecision>([[sent.toolUse, { kind: "kept", why: "fits" }]]);
    expect(words(planOffload({ results, limits, decided }))).toEqual({
      read: "kept: exempt",
      sent: "kept: fits",
      new: "offloaded: round",
    });
  });
});

const anyResult = fc.record({
  chars: fc.oneof(fc.nat(60_000), fc.nat(450_000)),
  holds: fc.constantFrom("text", "text", "image", "nothing"),
  resultCharsMax: fc.option(fc.nat(500_000), { nil: undefined }),
  offload: fc.constantFrom(undefined, undefined, undefined, "never"),
});
const anyRound = fc
  .array(anyResult, { maxLength: 12 })
  .map((results): MeasuredResult[] => results.map((result, at) => measured(`toolu_${at}`, result.chars, result)));

describe("laws", () => {
  it("a round is over its budget only where nothing that may go would make it smaller", () => {
    fc.assert(
      fc.property(anyRound, (results) => {
        const decisions = planOffload({ results, limits, decided: none });
        const total = results.reduce((sum, result) => sum + countShownChars(result, decisions.get(result.toolUse)), 0);
        const left = results.filter(({ toolUse, chars }) => {
          const decision = decisions.get(toolUse);
          return decision?.kind === "kept" && decision.why === "fits" && chars > shownCharsMax;
        });
        expect(total <= limits.roundChars || left.length === 0).toBe(true);
      }),
      runs,
    );
  });

  it("nothing goes for the round's sake that the budget had room for", () => {
    fc.assert(
      fc.property(anyRound, (results) => {
        const decisions = planOffload({ results, limits, decided: none });
        const goneForRound = results.filter(({ toolUse }) => {
          const decision = decisions.get(toolUse);
          return decision?.kind === "offloaded" && decision.why === "round";
        });
        const total = results.reduce((sum, result) => sum + countShownChars(result, decisions.get(result.toolUse)), 0);
        const last = goneForRound.toSorted((one, other) => one.chars - other.chars)[0];
        if (last !== undefined) expect(total - shownCharsMax + last.chars).toBeGreaterThan(limits.roundChars);
      }),
      runs,
    );
  });

  it("the order of arrival decides nothing", () => {
    fc.assert(
      fc.property(
        anyRound.chain((results) =>
          fc.tuple(fc.constant(results), fc.shuffledSubarray(results, { minLength: results.length })),
        ),
        ([results, shuffled]) => {
          expect(words(planOffload({ results: shuffled, limits, decided: none }))).toEqual(
            words(planOffload({ results, limits, decided: none })),
          );
        },
      ),
      runs,
    );
  });

  it("what is decided stays decided, whatever else arrives, and deciding again changes nothing", () => {
    fc.assert(
      fc.property(anyRound, fc.nat(12), (results, count) => {
        const before = results.slice(0, count);
        const decided = planOffload({ results: before, limits, decided: none });
        const after = planOffload({ results, limits, decided });
        for (const [id, decision] of decided) expect(after.get(id)).toEqual(decision);
        expect(planOffload({ results, limits, decided: after })).toEqual(after);
      }),
      runs,
    );
  });
});
