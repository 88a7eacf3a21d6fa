import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { entryOf, says, text, user } from "../../../../test/fixture/raw.ts";
import { tokens } from "../schema/brand.ts";
import { Fold } from "../transcript/fold.ts";
import { type ContextReport, contextReport } from "./context-report.ts";
import { defaultRates } from "./estimate-block.ts";
import {
  sumFixedPart,
  countingSteps,
  estimateFixedPart,
  type FixedFigure,
  type FixedPart,
  measureFixedPart,
  noFixedPart,
} from "./fixed-part.ts";
import { TokenLedger } from "./token-ledger.ts";
import { palimpsest } from "../policy/palimpsest.ts";
import { computeThresholds } from "./thresholds.ts";

const words = (count: number): string => "word ".repeat(count).trim();
const tool = (name: string, extra: object = {}): FixedPart["tools"][number] => ({
  name,
  description: words(40),
  ...extra,
});
const estimated = (part: Partial<FixedPart>) =>
  estimateFixedPart(measureFixedPart({ ...noFixedPart, ...part }), defaultRates);

const whole: FixedPart = {
  systemPrompts: [words(300)],
  tools: [tool("Read"), tool("mcp__git__log"), tool("Later", { defer_loading: true })],
  memoryFiles: [{ path: "/notes.md", text: words(100) }],
};

describe("what a request contains besides messages", () => {
  it.each<[string, Partial<FixedPart>, object[], string[]]>([
    ["nothing", {}, [], []],
    ["a system prompt", { systemPrompts: ["a", "b"] }, [{ kind: "systemPrompt", count: 2 }], []],
    ["a memory file", { memoryFiles: [{ path: "p", text: "t" }] }, [{ kind: "memoryFiles", count: 1 }], []],
    ["a built-in tool", { tools: [tool("Read")] }, [{ kind: "tools", count: 1 }], []],
    ["an MCP tool", { tools: [tool("mcp__a_b__c__d")] }, [{ kind: "mcpTools", count: 1 }], []],
    ["a name that only begins like an MCP tool's", { tools: [tool("mcp__a")] }, [{ kind: "tools", count: 1 }], []],
    ["a deferred tool", { tools: [tool("Late", { defer_loading: true })] }, [], ["Late"]],
    ["a deferred MCP tool", { tools: [tool("mcp__a__b", { defer_loading: true })] }, [], ["mcp__a__b"]],
    ["a tool that is not deferred", { tools: [tool("X", { defer_loading: false })] }, [{ kind: "tools" }], []],
  ])("%s is a kind of its own", (_, part, pieces, deferred) => {
    const figure = estimated(part);
    expect(figure.pieces).toMatchObject(pieces);
    expect(figure.pieces).toHaveLength(pieces.length);
    expect(figure.deferred.tools).toEqual(deferred);
    expect(figure.counter).toBe("estimate");
  });

  it("is estimated as text and JSON are, and the deferred tools are no part of the sum", () => {
    const figure = estimated(whole);
    const of = (kind: string) => figure.pieces.find((piece) => piece.kind === kind)?.tokens;
    expect(of("systemPrompt")).toBe(Math.ceil(words(300).length / 4));
    expect(of("memoryFiles")).toBe(Math.ceil(`/notes.md\n${words(100)}`.length / 4));
    expect(of("tools")).toBe(Math.ceil(JSON.stringify(tool("Read")).length / 4));
    expect(figure.tokens).toBe(figure.pieces.reduce((sum, piece) => sum + piece.tokens, 0));
    expect(figure.deferred.tokens).toBe(Math.ceil(JSON.stringify(tool("Later")).length / 4));
  });
});

describe("an exact count", () => {
  it("asks for requests that grow by one kind at a time, from a message alone on", () => {
    const steps = countingSteps(whole);
    expect(steps.map(({ kind }) => kind)).toEqual([
      "message",
      "systemPrompt",
      "memoryFiles",
      "tools",
      "mcpTools",
      "deferredTools",
    ]);
    expect(steps.map(({ request: { system, tools } }) => [system.length, tools.length])).toEqual([
      [0, 0],
      [1, 0],
      [2, 0],
      [2, 1],
      [2, 2],
      [2, 3],
    ]);
    expect(steps.every(({ request }) => request.messages.length === 1)).toBe(true);
  });

  it("gives each kind what its request has over the one before, so that the pieces sum to the whole", () => {
    const totals = [8, 108, 138, 538, 600, 650];
    const steps = countingSteps(whole).map((step, at) => ({ ...step, tokens: tokens(totals[at] ?? 0) }));
    const figure = sumFixedPart(steps, "exact");
    expect(figure.pieces.map((piece) => piece.tokens)).toEqual([100, 30, 400, 62]);
    expect(figure).toMatchObject({ tokens: 592, deferred: { tools: ["Later"], tokens: 50 }, counter: "exact" });
  });
});

interface Asked {
  readonly part: FixedPart;
  readonly counted?: FixedFigure;
  readonly said?: number;
  readonly usage?: number | null;
  readonly window?: number;
}

function reportOf({ part, counted, said = 10, usage = null, window = 200_000 }: Asked): ContextReport {
  const ledger = new TokenLedger();
  ledger.carries(part, counted);
  const fold = new Fold({ watch: ledger });
  const counts = usage === null ? {} : { usage: { input_tokens: usage, output_tokens: 1 } };
  const raws = [
    user("u", words(said)),
    { ...says("a", "m"), message: { id: "m", content: [text("ok")], ...counts } },
    user("v", words(said)),
  ];
  fold.appendAll(
    raws.map((raw, at) => ({ entry: entryOf({ parentUuid: raws[at - 1]?.uuid ?? null, ...raw }), start: at, end: at })),
  );
  const thresholds = computeThresholds({
    rule: palimpsest.thresholds,
    window: tokens(window),
    outputTokensMax: tokens(64_000),
    autoCompact: "on",
  });
  return contextReport({ fold, ledger, thresholds, autoCompact: "on" });
}
const tokensIn = (report: ContextReport, name: string): number =>
  report.categories.find((category) => category.name === name)?.tokens ?? 0;

describe("the fixed part in the report", () => {
  it("sums with the rest to what is used, and that with free space and reserve to the window, whatever the sizes", () => {
    const size = fc.integer({ min: 0, max: 5_000 });
    const asked = fc.record({
      window: fc.integer({ min: 8_000, max: 1_000_000 }),
      said: fc.integer({ min: 1, max: 20_000 }),
      usage: fc.option(fc.integer({ min: 100, max: 900_000 })),
      sizes: fc.tuple(size, size, size, size, size),
    });
    fc.assert(
      fc.property(asked, ({ window, said, usage, sizes: [prompt, memory, own, mcp, later] }) => {
        const defined = (name: string, count: number, extra: object = {}) =>
          count === 0 ? [] : [tool(name, { text: words(count), ...extra })];
        const part: FixedPart = {
          systemPrompts: prompt === 0 ? [] : [words(prompt)],
          memoryFiles: memory === 0 ? [] : [{ path: "m", text: words(memory) }],
          tools: [
            ...defined("Read", own),
            ...defined("mcp__a__b", mcp),
            ...defined("Later", later, { defer_loading: true }),
          ],
        };
        const report = reportOf({ part, said, usage, window });
        expect(report.used + report.free + report.reserve).toBe(report.window);
        expect(report.categories.reduce((sum, category) => sum + category.tokens, 0)).toBe(report.used);
        for (const category of report.categories) expect(category.tokens, category.name).toBeGreaterThanOrEqual(0);
        expect(report.categories.map(({ name }) => name)).not.toContain("deferredTools");
      }),
      { numRuns: 100, seed: 1 },
    );
  });

  it("counts as used if no usage showed it, piece by piece", () => {
    const known = reportOf({ part: whole });
    const without = reportOf({ part: noFixedPart });
    expect(known.used - without.used).toBe(known.fixedPart.tokens);
    expect(known.fixedPart).toMatchObject({ countedBy: "estimate", piecesBy: "estimate" });
    for (const name of ["systemPrompt", "memoryFiles", "tools", "mcpTools"])
      expect(tokensIn(known, name), name).toBeGreaterThan(20);
    expect(tokensIn(known, "system")).toBe(0);
  });

  it("explains a part of what usage showed; what stays unexplained is the rest", () => {
    const report = reportOf({ part: whole, usage: 9_000 });
    expect(report.used).toBe(reportOf({ part: noFixedPart, usage: 9_000 }).used);
    expect(tokensIn(report, "systemPrompt")).toBe(tokensIn(reportOf({ part: whole }), "systemPrompt"));
    expect(tokensIn(report, "system")).toBeGreaterThan(7_000);
    expect(report.fixedPart).toMatchObject({ countedBy: "usage", piecesBy: "estimate" });
  });

  it("shrinks in proportion if usage showed less than the estimate of the pieces", () => {
    const [full, shrunk] = [reportOf({ part: whole }), reportOf({ part: whole, usage: 200 })];
    const ratio = (name: string): number => tokensIn(shrunk, name) / tokensIn(full, name);
    expect(shrunk.used).toBeLessThan(full.fixedPart.tokens);
    expect(ratio("systemPrompt")).toBeLessThan(0.6);
    for (const name of ["memoryFiles", "tools", "mcpTools"])
      expect(Math.abs(ratio(name) - ratio("systemPrompt")), name).toBeLessThan(0.03);
  });

  describe("when usage hardly separates it from a long conversation", () => {
    const step = 100;
    const part = { ...noFixedPart, systemPrompts: [words(9_000)] };
    const exactly: FixedFigure = {
      tokens: tokens(12_000),
      pieces: [{ kind: "systemPrompt", count: 1, tokens: tokens(12_000) }],
      deferred: { tools: [], tokens: tokens(0) },
      counter: "exact",
    };

    it("is what an exact counter counted, however little the estimate of the conversation leaves over", () => {
      for (const usage of [20_000, 33_333, 33_334, 40_000, 45_332]) {
        const report = reportOf({ part, counted: exactly, said: 20_000, usage });
        expect(tokensIn(report, "systemPrompt"), `${usage}`).toBe(12_000);
        expect(report.fixedPart, `${usage}`).toMatchObject({ tokens: 12_000, countedBy: "exact" });
      }
      expect(reportOf({ part, counted: exactly, said: 20_000, usage: 60_000 }).fixedPart).toMatchObject({
        countedBy: "usage",
        piecesBy: "exact",
      });
    });

    it.each([["counted", exactly] as const, ["estimated", undefined] as const])(
      "no category leaps where usage grows a little, with the pieces %s",
      (_, counted) => {
        const of = (said: number, usage: number) =>
          reportOf({ part, said, usage, ...(counted === undefined ? {} : { counted }) });
        for (const said of [5_000, 9_000, 20_000]) {
          // From less than the conversation's estimate to three times as much: over every rule that the size goes by.
          for (let usage = said; usage < 5 * said; usage += step) {
            const [one, next] = [of(said, usage), of(said, usage + step)];
            expect(next.used - one.used).toBe(step);
            for (const { name } of [...one.categories, ...next.categories])
              expect(Math.abs(tokensIn(next, name) - tokensIn(one, name)), `${name} at ${usage}`).toBeLessThan(
                6 * step,
              );
          }
        }
      },
    );
  });

  it("has no row for the few tokens that rounding leaves unexplained, and still all sum to what is used", () => {
    const reports = Array.from({ length: 60 }, (_, at) => reportOf({ part: noFixedPart, usage: 1 + at }));
    for (const { used, categories } of reports)
      expect(categories.reduce((sum, category) => sum + category.tokens, 0)).toBe(used);
    const rests = reports.map((report) => tokensIn(report, "system")).filter((rest) => rest > 0);
    expect(Math.min(...rests)).toBeGreaterThan(2);
    expect(rests.length).toBeGreaterThan(10);
  });

  it("lists deferred tools apart from the window: they do not change what is used", () => {
    const later = { ...noFixedPart, tools: [tool("Later", { defer_loading: true })] };
    const report = reportOf({ part: later });
    expect(report.used).toBe(reportOf({ part: noFixedPart }).used);
    expect(report.deferred.tools).toEqual(["Later"]);
    expect(report.deferred.tokens).toBeGreaterThan(50);
  });
});
