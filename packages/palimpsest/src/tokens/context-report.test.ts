import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { call, entryOf, result, says, text, user, type Raw } from "../../../../test/fixture/raw.ts";
import { tokens } from "../schema/brand.ts";
import { Fold } from "../transcript/fold.ts";
import { type ContextReport, contextReport } from "./context-report.ts";
import { noFixedPart } from "./fixed-part.ts";
import { TokenLedger } from "./token-ledger.ts";
import { palimpsest } from "../policy/palimpsest.ts";
import { computeThresholds } from "./thresholds.ts";

interface Given {
  readonly window?: number;
  readonly systemPrompt?: string;
}

function reportOf(raws: readonly Raw[], { window = 200_000, systemPrompt = "" }: Given = {}): ContextReport {
  const ledger = new TokenLedger();
  ledger.carries({ ...noFixedPart, systemPrompts: systemPrompt === "" ? [] : [systemPrompt] });
  const fold = new Fold({ watch: ledger });
  fold.appendAll(
    raws.map((raw, at) => ({
      entry: entryOf({ parentUuid: at === 0 ? null : raws[at - 1]?.uuid, ...raw }),
      start: at,
      end: at,
    })),
  );
  const thresholds = computeThresholds({
    rule: palimpsest.thresholds,
    window: tokens(window),
    outputTokensMax: tokens(64_000),
    autoCompact: "on",
  });
  return contextReport({ fold, ledger, thresholds, autoCompact: "on" });
}

const reading = (uuid: string, id: string, path: string): Raw =>
  says(uuid, `m-${uuid}`, { type: "tool_use", id, name: "Read", input: { file_path: path } });
const editing = (uuid: string, id: string, path: string): Raw =>
  says(uuid, `m-${uuid}`, { type: "tool_use", id, name: "Edit", input: { file_path: path } });

describe("the report", () => {
  it("used, free and reserve make up the window, and the categories make up what is used, whatever the sizes", () => {
    const sizes = fc.record({
      window: fc.integer({ min: 8_000, max: 1_000_000 }),
      words: fc.array(fc.integer({ min: 1, max: 20_000 }), { minLength: 1, maxLength: 8 }),
      usage: fc.option(fc.integer({ min: 100, max: 900_000 })),
    });
    fc.assert(
      fc.property(sizes, ({ window, words, usage }) => {
        const raws = words.flatMap((count, at) => [
          user(`u${at}`, "word ".repeat(count)),
          {
            ...says(`a${at}`, `m${at}`, text("ok")),
            message: {
              id: `m${at}`,
              content: [text("ok")],
              ...(usage === null ? {} : { usage: { input_tokens: usage, output_tokens: 1 } }),
            },
          },
        ]);
        const { used, free, reserve, categories, window: of } = reportOf(raws, { window });
        expect(used + free + reserve).toBe(of);
        expect(reserve).toBeGreaterThanOrEqual(0);
        expect(categories.reduce((sum, category) => sum + category.tokens, 0)).toBe(used);
      }),
      { numRuns: 60, seed: 1 },
    );
  });

  it("names what a view is made of", () => {
    const raws = [
      user("u", "please read it"),
      says("a", "m", text("I will"), call("x")),
      result("r", "x"),
      user("l", "<local-command-stdout>ok</local-command-stdout>"),
      { type: "attachment", uuid: "t", attachment: { type: "file", filename: "a.ts", content: "text" } },
    ];
    const names = reportOf(raws).categories.map(({ name }) => name);
    expect(names.toSorted()).toEqual([
      "assistant",
      "attachments.file",
      "human",
      "localCommandOutput",
      "requests.Read",
      "results.Read",
    ]);
  });

  it("shows no item larger than its category, and reads no larger than all results, whatever the provider counted", () => {
    const sizes = fc.record({
      words: fc.array(fc.integer({ min: 1, max: 5_000 }), { minLength: 1, maxLength: 6 }),
      input: fc.integer({ min: 1, max: 60_000 }),
      part: fc.integer({ min: 0, max: 3_000 }),
    });
    fc.assert(
      fc.property(sizes, ({ words, input, part }) => {
        // Each call is of a tool of its own, so each item fills a category.
        const raws = words.flatMap((count, at) => [
          says(`a${at}`, `m${at}`, {
            type: "tool_use",
            id: `t${at}`,
            name: `Tool${at}`,
            input: { all: "x ".repeat(count) },
          }),
          result(`r${at}`, `t${at}`, "word ".repeat(count)),
        ]);
        const last = { id: "last", content: [text("ok")], usage: { input_tokens: input, output_tokens: 1 } };
        const report = reportOf([user("u"), ...raws, { ...says("z", "last"), message: last }], {
          systemPrompt: "rule ".repeat(part),
        });
        const tokensByCategory = new Map(report.categories.map(({ name, tokens: size }) => [name, size]));
        for (const { what, tokens: size } of report.largest) {
          const [tool, kind] = what.split(" ");
          if (kind === "request" || kind === "result")
            expect(size).toBeLessThanOrEqual(tokensByCategory.get(`${kind}s.${tool}`) ?? 0);
        }
      }),
      { numRuns: 200, seed: 1 },
    );
    const long = "line of a file\n".repeat(2_000);
    const twice = ["1", "2", "3"].flatMap((at) => [
      reading(`a${at}`, `t${at}`, "/f.ts"),
      result(`r${at}`, `t${at}`, long),
    ]);
    const usage = { id: "last", content: [text("ok")], usage: { input_tokens: 2_000, output_tokens: 1 } };
    const { reads, categories } = reportOf([user("u"), ...twice, { ...says("z", "last"), message: usage }]);
    const results = categories.find(({ name }) => name === "results.Read")?.tokens ?? 0;
    expect(reads.repeated[0]?.wasted).toBeLessThan(results);
    expect(reads.repeated[0]?.wasted).toBeGreaterThan(results / 2);
  });

  it("lists repeated reads by what they waste", () => {
    const twice = ["small", "large", "middle"].flatMap((name, at) =>
      [1, 2].flatMap((time) => [
        reading(`a-${name}${time}`, `${name}${time}`, name),
        result(`r-${name}${time}`, `${name}${time}`, "word ".repeat([10, 1000, 100][at] ?? 0)),
      ]),
    );
    expect(reportOf([user("u"), ...twice]).reads.repeated.map(({ path }) => path)).toEqual([
      "large",
      "middle",
      "small",
    ]);
  });

  it("lists files that were read more than once, and versions that are gone", () => {
    const long = "line of a file\n".repeat(200);
    const raws = [
      user("u"),
      reading("a1", "x", "/f.ts"),
      result("r1", "x", long),
      editing("a2", "y", "/f.ts"),
      result("r2", "y", "ok"),
      reading("a3", "z", "/f.ts"),
      result("r3", "z", long),
      reading("a4", "w", "/other.ts"),
      result("r4", "w", long),
    ];
    const { reads, largest } = reportOf(raws);
    expect(reads.repeated).toMatchObject([{ path: "/f.ts", count: 2 }]);
    expect(reads.repeated[0]?.wasted).toBe(largest[0]?.tokens);
    expect(reads.superseded.map(({ toolUse }) => toolUse)).toEqual(["x"]);
  });
});
