import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chained, type Raw, result, text, user } from "../../../../test/fixture/raw.ts";
import { tokens, toolUseId } from "palimpsest/internal/schema/brand";
import { findNeeds } from "./find-needs.ts";
import type { Need, RecordedRound } from "./recording.ts";
import { splitRounds } from "./split-rounds.ts";
import type { SaidEntry } from "./uncut-path.ts";

const line = "export function reckonTheWholeBill(of: Session): Money {";
const names = ["firstLongIdentifier", "secondLongIdentifier", "thirdLongIdentifier"] as const;
const three = names.join(", ");

interface Step {
  readonly says?: string;
  readonly calls?: { readonly name: string; readonly input: object };
  /** What the call of this step shows. */
  readonly shows?: string;
  /** Said by the user behind it. */
  readonly userText?: string;
}

/** Step n replies in round n and shows its result `t<n>`, which round n + 1 is the first to hold. */
function needsIn(...steps: readonly Step[]): ReadonlyMap<string, Need> {
  const raws = steps.flatMap(({ says: said = "well", calls, shows = "nothing", userText }, at): Raw[] => {
    const { name, input } = calls ?? { name: "Bash", input: {} };
    const content = [text(said), { type: "tool_use", id: `t${at}`, name, input }];
    const reply: Raw = { type: "assistant", uuid: `a${at}`, message: { id: `m${at}`, content } };
    const spoken = userText === undefined ? [] : [user(`u${at}`, userText)];
    return [reply, result(`r${at}`, `t${at}`, shows), ...spoken];
  });
  const entries = chained([user("u"), ...raws]);
  const rounds = splitRounds(entries.map((entry) => ({ entry: entry as SaidEntry, follows: "directly" })));
  return findNeeds(rounds.map((round): RecordedRound => ({ ...round, outputTokens: tokens(0) })));
}

const strong = (...steps: readonly Step[]): readonly number[] | undefined =>
  needsIn(...steps).get(toolUseId("t0"))?.strongRounds;

describe("needsOf", () => {
  it.each<[string, readonly Step[], readonly number[]]>([
    ["a copied line", [{ shows: `a\n${line}\nb` }, {}, { says: line }], [2]],
    ["a line behind a line number", [{ shows: `   12→${line}` }, {}, { says: line }], [2]],
    ["a line of a patch", [{ shows: line }, {}, { calls: { name: "apply_patch", input: { input: `-${line}` } } }], [2]],
    [
      "a line deep in an input",
      [{ shows: line }, {}, { calls: { name: "Edit", input: { edits: [{ old: line }] } } }],
      [2],
    ],
    ["three identifiers", [{ shows: three }, {}, { says: three }], [2]],
    [
      "several quotations, each with something new",
      [{ shows: `${line}\n${three}` }, {}, { says: line }, { says: three }],
      [2, 3],
    ],
  ])("finds strong evidence in %s", (_, steps, rounds) => {
    expect(strong(...steps)).toEqual(rounds);
  });

  it.each<[string, readonly Step[]]>([
    ["the reply to the request that first held it", [{ shows: line }, { says: line }]],
    ["a short line", [{ shows: line.slice(0, 39) }, {}, { says: line.slice(0, 39) }]],
    ["part of a line", [{ shows: line }, {}, { says: `${line} and more` }]],
    ["one identifier three times", [{ shows: three }, {}, { says: `${names[0]} ${names[0]} ${names[0]}` }]],
    [
      "short identifiers",
      [{ shows: "oneTwoThree fourFiveSix sevenEight" }, {}, { says: "oneTwoThree fourFiveSix sevenEight" }],
    ],
    ["what a second result showed too", [{ shows: line }, { shows: line }, {}, { says: line }]],
    ["what the user said too", [{ shows: line, userText: line }, {}, { says: line }]],
    ["what the model said before it was shown", [{ says: line, shows: line }, {}, { says: line }]],
    ["what the model repeats after itself", [{ shows: line }, { says: line }, { says: line }]],
  ])("finds none in %s", (_, steps) => {
    expect(strong(...steps)).toEqual([]);
  });

  it("finds weak evidence in fewer identifiers", () => {
    const need = needsIn({ shows: three }, {}, { says: `${names[0]} and ${names[1]}` }).get("t0");
    expect(need).toMatchObject({ born: 1, strongRounds: [], weakRounds: [2] });
  });

  const read = (input: object): Step => ({ calls: { name: "Read", input: { file_path: "/a", ...input } } });
  const edit = (path: string): Step => ({ calls: { name: "Edit", input: { file_path: path } } });
  it.each<[string, readonly Step[], readonly number[]]>([
    ["the same range", [read({ offset: 1, limit: 5 }), {}, read({ limit: 5, offset: 1 })], [2]],
    ["another range", [read({ offset: 1 }), {}, read({ offset: 9 })], []],
    ["the same range after an edit", [read({}), edit("/a"), {}, read({})], []],
    ["the same range after an edit of another file", [read({}), edit("/b"), {}, read({})], [3]],
  ])("tells whether a file was read again: %s", (_, steps, rounds) => {
    expect(needsIn(...steps).get("t0")?.rereadRounds).toEqual(rounds);
  });

  it("never finds a need before the round behind birth, nor one round as strong and weak", () => {
    const word = fc.constantFrom(line, three, names[0], "short", `${line}\n${names[1]}`);
    fc.assert(
      fc.property(fc.array(fc.record({ says: word, shows: word }), { maxLength: 12 }), (steps) => {
        for (const { born, strongRounds, weakRounds } of needsIn(...steps).values()) {
          const found = [...strongRounds, ...weakRounds];
          expect(found.every((round) => round > born)).toBe(true);
          expect(new Set(found).size).toBe(found.length);
        }
      }),
    );
  });
});
