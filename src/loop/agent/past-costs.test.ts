import { describe, expect, it } from "vitest";
import { boundary, chained, type Raw, says, text, undo, user } from "../../../test/fixture/raw.ts";
import { sessionId } from "../../schema/brand.ts";
import type { CompactionCall } from "../../schema/compaction.ts";
import { spentDraft } from "../compact/spent.ts";
import { pastRequests } from "./past-costs.ts";

const session = sessionId("mine");
const usage = { input_tokens: 10, output_tokens: 2 };
const made: CompactionCall = { path: "fork", model: "large", usage };

const paid = (...raws: readonly Raw[]): readonly string[] =>
  pastRequests({ path: chained(raws), session }).map(({ source, model, paidBy }) => `${paidBy} ${source} ${model}`);

const mine = { sessionId: session };
const spent = (calls: readonly CompactionCall[]): Raw => ({ ...spentDraft(calls, "auto"), uuid: "spent" });

describe("what was paid for a session", () => {
  it.each<[string, readonly Raw[], readonly string[]]>([
    [
      "a boundary's calls, each",
      [{ ...boundary("b", { calls: [made, made] }), ...mine }],
      ["own compact large", "own compact large"],
    ],
    ["calls of a session it was copied from", [boundary("b", { calls: [made] })], ["inherited compact large"]],
    ["calls whose summary was never installed", [{ ...spent([made]), ...mine }], ["own compact large"]],
    [
      "calls of a boundary that was undone: the money is gone",
      [
        { ...boundary("b", { calls: [made] }), ...mine },
        user("s", "summary", { isCompactSummary: true }),
        undo("x", "b"),
      ],
      ["own compact large"],
    ],
    ["nothing of a boundary that another tool made", [boundary("b", { preTokens: 9 })], []],
    ["nothing of calls that are none", [{ ...spent([]), value: { calls: "all" } }], []],
  ])("holds %s", (_, raws, expected) => {
    expect(paid(...raws)).toEqual(expected);
  });

  it("holds replies and calls in their order, a reply in several entries once, with its usage", () => {
    const spoken = (uuid: string, output: number): Raw => {
      const { message, ...raw } = says(uuid, "m1", text("a")) as Raw & { message: object };
      return { ...raw, ...mine, message: { ...message, model: "small", usage: { ...usage, output_tokens: output } } };
    };
    const path = chained([spoken("1", 1), spoken("2", 5), { ...boundary("b", { calls: [made] }), ...mine }]);
    const requests = pastRequests({ path, session });
    expect(requests.map(({ source, usage: { output_tokens } }) => [source, output_tokens])).toEqual([
      ["main", 5],
      ["compact", 2],
    ]);
  });
});
