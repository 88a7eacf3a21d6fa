import { describe, expect, it } from "vitest";
import { figuresOf, outcomeOf } from "../../../../test/fixture/replay/outcome.ts";
import type { ReplayOutcome } from "../replay-outcome.ts";
import { createTally, type PriceSummary } from "../tally.ts";
import { formatMillions, formatPercent, formatRange, formatRatios } from "../statistics.ts";
import { renderReport, pickSessions } from "./render-report.ts";
import { niceCeiling, drawStackedBars, thinPoints, drawWhiskers } from "./svg.ts";

function summariesOf(...outcomes: readonly Partial<ReplayOutcome>[]): readonly PriceSummary[] {
  const tally = createTally({ roundsMin: 30, baseline: "never" });
  for (const one of outcomes) tally.add(figuresOf(one));
  return tally.summaries();
}

describe("a report", () => {
  const summaries = summariesOf(
    { policy: "never", inputCost: 2e6 },
    { policy: "<b>rule</b>", inputCost: 1e6 },
    { policy: "fails", failedAt: 3 },
    { policy: "never", prices: "1h", rounds: 5 },
  );
  const picked = pickSessions(1);
  picked.add([outcomeOf({ file: "/x/a&b.jsonl" }), outcomeOf({ file: "/x/a&b.jsonl", policy: "<b>rule</b>" })]);
  const page = renderReport({ summaries, plotted: picked.sessions(), notes: ["2 files <replayed>"] });

  it("loads and runs nothing: no script, no address, a policy that forbids both", () => {
    expect(page).toContain(`content="default-src 'none'; style-src 'unsafe-inline'"`);
    expect(page).not.toMatch(/<script|<link|<img|https?:|url\(|@import/i);
  });

  it("shows names and notes as text, whatever they hold", () => {
    expect(page).not.toContain("<b>rule");
    expect(page).toContain("&lt;b&gt;rule&lt;/b&gt;");
    expect(page).toContain("a&amp;b.jsonl");
    expect(page).toContain("2 files &lt;replayed&gt;");
  });

  it("closes every element it opens", () => {
    const open: string[] = [];
    for (const [, slash, name = "", rest = ""] of page.matchAll(/<(\/?)([a-z][a-z\d]*)\b([^>]*)>/g)) {
      if (slash === "/") expect(open.pop()).toBe(name);
      else if (!rest.endsWith("/") && !["meta", "br"].includes(name)) open.push(name);
    }
    expect(open).toEqual([]);
  });

  it("has light and dark, and every colour that it names", () => {
    expect(page).toContain("prefers-color-scheme:dark");
    for (const [, name = ""] of page.matchAll(/var\((--[a-z]+)\)/g))
      expect(page.split(`${name}:#`), name).toHaveLength(3);
  });

  it("has no columns over bounds where there are none, and as many cells as titles", () => {
    const auto = { prices: "auto", optimumFull: null, optimumClearOnly: null } as const;
    for (const [outcome, columns] of [
      [{}, 13],
      [auto, 5],
    ] as const) {
      const [money = ""] =
        /<table>.*?<\/table>/s.exec(renderReport({ summaries: summariesOf(outcome), plotted: [], notes: [] })) ?? [];
      expect(money.includes("over clearing alone")).toBe(columns === 13);
      expect(money.match(/<th>/g)).toHaveLength(columns);
      expect(money.match(/<td>/g)).toHaveLength(columns);
    }
  });

  it("says of a policy in how many sessions it fails, and leaves it out of the savings", () => {
    expect(page).toContain("fails in 1 of 1");
    const savings = /aria-label="SavingLevel against never[^>]*>.*?<\/svg>/s.exec(page)?.[0] ?? "";
    expect(savings).toContain("50.0 %");
    expect(savings).not.toContain(">fails<");
  });

  it("draws each policy once, with the baseline behind it", () => {
    expect(page.match(/<figure>/g)).toHaveLength(1);
    expect(page.match(/<polyline/g)).toHaveLength(2);
  });

  it("without a session that is long enough says so instead of a table", () => {
    const empty = renderReport({ summaries: summariesOf({ rounds: 3 }), plotted: [], notes: [] });
    expect(empty).toContain("0 sessions");
    expect(empty).not.toContain("<table");
  });
});

describe("plots", () => {
  it("thin a long line without losing its peaks, its ends or its order", () => {
    const values = Array.from({ length: 10_000 }, (_, at) => (at === 4_321 ? 999 : at === 8_000 ? -5 : at % 7));
    const points = thinPoints(values);
    expect(points.length).toBeLessThanOrEqual(400);
    expect(points).toContainEqual([4_321, 999]);
    expect(points).toContainEqual([8_000, -5]);
    expect(points.map(([at]) => at)).toEqual(points.map(([at]) => at).toSorted((a, b) => a - b));
    expect(thinPoints([3, 1])).toEqual([
      [0, 3],
      [1, 1],
    ]);
  });

  it.each([
    [1, 1],
    [1.01, 2],
    [167_000, 200_000],
    [200_001, 250_000],
    [999_999, 1_000_000],
  ])("end an axis for %d at %d", (value, ceiling) => expect(niceCeiling(value)).toBeCloseTo(ceiling, 6));

  it("make bars as long as their parts: half the money, half the length", () => {
    const part = (value: number) => [{ name: "p", colour: "--read", value }];
    const drawn = drawStackedBars({
      title: "t",
      bars: [
        { name: "a", parts: part(200), text: "" },
        { name: "b", parts: part(100), text: "" },
      ],
    });
    const [long = 0, short = 0] = [...drawn.matchAll(/<rect[^>]* width="([\d.]+)"/g)].map(([, width]) => Number(width));
    expect(short).toBeCloseTo(long / 2, 6);
    expect(drawStackedBars({ title: "t", bars: [{ name: "free", parts: part(0), text: "" }] })).not.toContain("NaN");
  });

  it("colour a saving only where its whole interval is on one side", () => {
    const colours = [
      { low: 0.1, estimate: 0.2, high: 0.3 },
      { low: -0.3, estimate: -0.2, high: -0.1 },
      { low: -0.1, estimate: 0.2, high: 0.3 },
    ].map((one) => {
      const drawn = drawWhiskers({ title: "t", rows: [{ name: "n", text: "", ...one }] });
      return /<circle[^>]*fill="var\((.*?)\)"/.exec(drawn)?.[1];
    });
    expect(colours).toEqual(["--good", "--bad", "--faint"]);
  });
});

describe("sessions that are drawn", () => {
  it("are those with the most tokens sent, largest first, at the first prices", () => {
    const picked = pickSessions(2);
    const add = (file: string, tokens: number): void =>
      picked.add([
        outcomeOf({ file, contextByRound: [tokens, 1] }),
        outcomeOf({ file, prices: "1h", contextByRound: [10 * tokens] }),
      ]);
    add("small", 10);
    add("large", 30);
    add("middle", 20);
    picked.add([]);
    expect(picked.sessions().map(({ file }) => file)).toEqual(["large", "middle"]);
    expect(picked.sessions()[0]?.lines).toEqual([{ policy: "never", contextByRound: [30, 1] }]);
  });
});

describe("figures", () => {
  it.each([
    [formatMillions(1_234_567), "1.23M"],
    [formatMillions(0), "0.00M"],
    [formatMillions(182_400_000), "182M"],
    [formatPercent(0.2264), "22.6 %"],
    [formatPercent(-0.00001), "0.0 %"],
    [formatPercent(-1.109), "-110.9 %"],
    [formatRange({ estimate: 0, low: -0.056, high: 0.1 }), "-5.6 to 10.0"],
    [formatRatios(undefined).join(), "–,–,–,–"],
    [formatRatios({ mean: 1, median: 1.005, p90: 1.5, max: 12 }).join(), "1.00,1.00,1.50,12.00"],
  ])("read %s", (shown, expected) => expect(shown).toBe(expected));
});
