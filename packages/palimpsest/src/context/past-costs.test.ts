import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { boundary, chained, type Raw, says, text, undo, user } from "../../../../test/fixture/raw.ts";
import { CostLedger, type PaidRequest } from "../cache/cost-ledger.ts";
import { sessionId, tokens } from "../schema/brand.ts";
import type { CompactionCall } from "../schema/compaction-cause.ts";
import { backgroundCostDraft, compactionCostDraft, pastRequests, notesCostDraft } from "./past-costs.ts";

const session = sessionId("mine");
const usage = { input_tokens: 10, output_tokens: 2 };
const made: CompactionCall = { path: "fork", model: "large", usage };

const paid = (...raws: readonly Raw[]): readonly string[] =>
  pastRequests({ entries: chained(raws), session }).map(({ source, model, paidBy }) => `${paidBy} ${source} ${model}`);

const mine = { sessionId: session };
const spent = (calls: readonly CompactionCall[]): Raw => ({ ...compactionCostDraft(calls, "auto"), uuid: "spent" });

const spoken = (
  uuid: string,
  message: { readonly id: string; readonly model: string; readonly usage: object },
): Raw => ({
  ...says(uuid, message.id, text("a")),
  ...mine,
  message: { role: "assistant", content: [text("a")], ...message },
});

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
    [
      "calls for notes",
      [{ ...notesCostDraft({ model: "large", usage: [usage, usage] }), uuid: "n", ...mine }],
      ["own notes large", "own notes large"],
    ],
    [
      "calls of extractions and dreams",
      (["extraction", "dream"] as const).map((source) => ({
        ...backgroundCostDraft({ source, model: "large", usage: [usage] }),
        uuid: source,
        ...mine,
      })),
      ["own extraction large", "own dream large"],
    ],
    [
      "calls once that are booked again behind a retry",
      [
        { ...spent([made]), ...mine },
        { ...spent([made]), uuid: "again", again: "spent", ...mine },
        { ...notesCostDraft({ model: "large", usage: [usage] }), uuid: "n", ...mine },
        { ...notesCostDraft({ model: "large", usage: [usage] }), uuid: "n again", again: "n", ...mine },
      ],
      ["own compact large", "own notes large"],
    ],
    ["nothing of a boundary that another tool made", [boundary("b", { preTokens: 9 })], []],
    ["nothing of calls that are none", [{ ...spent([]), value: { calls: "all" } }], []],
  ])("holds %s", (_, raws, expected) => {
    expect(paid(...raws)).toEqual(expected);
  });

  it("holds replies and calls in their order, a reply in several entries once, with its usage", () => {
    const whole = (uuid: string, output: number): Raw =>
      spoken(uuid, { id: "m1", model: "small", usage: { ...usage, output_tokens: output } });
    const entries = chained([whole("1", 1), whole("2", 5), { ...boundary("b", { calls: [made] }), ...mine }]);
    const requests = pastRequests({ entries, session });
    expect(requests.map(({ source, usage: { output_tokens } }) => [source, output_tokens])).toEqual([
      ["main", 5],
      ["compact", 2],
    ]);
  });

  it("is to the billionth what was booked as it was paid, whatever a reply's price depends on", () => {
    const count = fc.nat(2_000_000);
    const counts = fc.record({
      input_tokens: count,
      output_tokens: count,
      cache_read_input_tokens: count,
      cache_creation_input_tokens: count,
      cache_creation: fc.option(fc.record({ ephemeral_5m_input_tokens: count, ephemeral_1h_input_tokens: count })),
    });
    const said = fc
      .tuple(
        counts,
        fc.record({
          speed: fc.constantFrom("standard", "fast", null),
          inference_geo: fc.constantFrom("us", "global", null),
          iterations: fc.option(fc.array(counts, { maxLength: 3 })),
        }),
      )
      .map(([all, more]) => ({ ...all, ...more }));
    const model = fc.constantFrom("claude-opus-5", "claude-sonnet-4-5", "claude-haiku-4-5", "nobody-knows");
    const source = fc.constantFrom("main", "compact", "notes", "extraction", "dream");
    fc.assert(
      fc.property(fc.array(fc.record({ source, model, usage: said }), { maxLength: 6 }), (requests) => {
        const live = new CostLedger();
        for (const one of requests) live.add({ ...one, headerTokens: tokens(0) });
        const again = new CostLedger();
        const entries = chained(requests.map((one, at) => ({ ...logged(one, `${at}`), ...mine })));
        for (const { paidBy: _, ...one } of pastRequests({ entries, session })) again.add(one);
        expect(again.toJSON()).toEqual(live.toJSON());
      }),
    );
  });
});

function logged({ source, model, usage: paidUsage }: Omit<PaidRequest, "headerTokens">, uuid: string): Raw {
  if (source === "main") return spoken(uuid, { id: `m${uuid}`, model, usage: paidUsage });
  if (source === "extraction" || source === "dream")
    return { ...backgroundCostDraft({ source, model, usage: [paidUsage] }), uuid };
  return source === "notes"
    ? { ...notesCostDraft({ model, usage: [paidUsage] }), uuid }
    : { ...compactionCostDraft([{ path: "fork", model, usage: paidUsage }], "auto"), uuid };
}
