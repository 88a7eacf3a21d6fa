import { describe, expect, it } from "vitest";
import { figuresOf } from "../../../../test/fixture/replay/outcome.ts";
import type { ReplayOutcome } from "@palimpsest/lab/internal/replay-outcome";
import { createTally } from "@palimpsest/lab/internal/tally";
import { replayText } from "./show-outcomes.ts";

function textOf(columns: number | undefined, ...outcomes: readonly Partial<ReplayOutcome>[]): string {
  const tally = createTally({ roundsMin: 30, baseline: "never" });
  for (const one of outcomes) tally.add(figuresOf(one));
  const longestRounds = Math.max(...outcomes.map(({ rounds = 100 }) => rounds));
  return tally
    .summaries()
    .map((summary) => replayText(summary, { columns, roundsMin: 30, longestRounds }))
    .join("\n");
}

const never = { policy: "never", inputCost: 2e6 };
const rule = { policy: "rule", inputCost: 1.5e6, compactions: 2, peakContext: 123_456 };

const bothOf = (file: string): readonly Partial<ReplayOutcome>[] => [
  { ...never, file },
  { ...rule, file },
];

describe("the text of a replay", () => {
  it("has a row for each policy, cheapest first, with its saving and interval", () => {
    const text = textOf(undefined, ...["a", "b", "c", "d", "e"].flatMap(bothOf));
    expect(text).toMatch(/^5m prices: 5 sessions, 500 rounds\n/);
    expect(text).toMatch(/\nrule +7\.50M +25\.0 % +25\.0 to 25\.0 +25\.0 %\nnever +10\.00M +0\.0 % /);
    expect(text).toMatch(/\nrule +0 +10 +0 +123,456 +0\n/);
  });

  it("has no interval of fewer than five sessions: it would look like certainty", () => {
    const text = textOf(undefined, ...["a", "b", "c", "d"].flatMap(bothOf));
    expect(text).toMatch(/\nrule +6\.00M +25\.0 % +– +25\.0 %\n/);
    const fewOfRule = ["a", "b", "c", "d"].flatMap(bothOf).concat({ ...never, file: "e" });
    expect(textOf(undefined, ...fewOfRule)).toMatch(/\nrule +6\.00M +25\.0 % +– /);
  });

  it("says how compactions were made, where they do not stand in for real ones", () => {
    expect(textOf(undefined, never)).toMatch(/^5m prices: 1 session, 100 rounds\n\n/);
    const text = textOf(undefined, { ...never, compaction: "extract" });
    expect(text).toMatch(
      /^5m prices: 1 session, 100 rounds\ncompaction extract: summaries are made from what was said\n/,
    );
  });

  it("says how many sessions were too short", () => {
    expect(textOf(undefined, never, { file: "other", rounds: 29 })).toMatch(
      /^5m prices: 1 session, 100 rounds\nleft out with too few rounds: 1\n\n/,
    );
  });

  it("says what would show something where all sessions are too short", () => {
    expect(textOf(undefined, { rounds: 29 })).toBe(
      "5m prices: 0 sessions, 0 rounds\nleft out with too few rounds: 1\n29 rounds of at least 30: --rounds-min 1 shows it\n",
    );
    expect(textOf(undefined, { rounds: 13 }, { file: "other", rounds: 1 })).toMatch(
      /\nat most 13 rounds of at least 30: --rounds-min 1 shows them\n$/,
    );
  });

  it("says below the table in how many sessions a policy fails, and nothing where none does", () => {
    const text = textOf(undefined, never, { ...never, file: "b" }, rule, { ...rule, file: "b", failedAt: 9 });
    expect(text).toContain("\nFails, and has figures of the other sessions only: rule in 1 of 2.\n");
    expect(text.indexOf("\nnever")).toBeLessThan(text.indexOf("\nrule"));
    expect(textOf(undefined, never, rule)).not.toContain("Fails");
  });

  it("says how many sessions no policy comes through", () => {
    expect(textOf(undefined, never, { ...never, file: "b", failedAt: 0 })).toContain(
      "\nleft out, since no policy comes through: 1\n",
    );
  });

  it("has no tables over bounds where there are none", () => {
    const auto = { prices: "auto", optimumFull: null, optimumClearOnly: null } as const;
    const text = textOf(undefined, never, { ...never, ...auto });
    const [before = "", behind = ""] = text.split("auto prices");
    expect(before.match(/over the best/g)).toHaveLength(2);
    expect(behind).not.toContain("over the best");
    expect(behind).toContain("What it did");
  });

  it("sets the recorded usage beside the baseline", () => {
    const unwrapped = (outcome: Partial<ReplayOutcome>): string => textOf(undefined, outcome).replaceAll("\n", " ");
    expect(unwrapped({ ...never, recordedCost: 1.94e6 })).toContain(
      "recorded in 1 session costs 1.94M; never costs 2.00M in the same, at the median 1.03 times as much.",
    );
    expect(unwrapped({ ...never, recordedCost: 1.94e6, recordedLossCost: 4e4 })).toContain(
      "costs 1.94M (0.04M of it for caches that were lost before they expired); never",
    );
    expect(textOf(undefined, never)).not.toContain("recorded");
  });

  it("stays a table at 80 columns with the longest names, large figures and policies that fail", () => {
    const long = { policy: "claude-code-2026-all", inputCost: 90e6 };
    const files = Array.from({ length: 6 }, (_, n) => `${n}`);
    const text = textOf(
      80,
      ...files.flatMap((file) => [
        { ...never, inputCost: 99e6, file },
        { ...long, file, ...(file === "0" ? { failedAt: 4 } : {}) },
      ]),
    );
    expect(text).toMatch(/\npolicy +cost +saving +95 % interval +with rework\n/);
  });

  it.each([50, 80, 200])("fits into %d columns", (columns) => {
    const long = { policy: "claude-code-2026-all", inputCost: 5e6, recordedCost: 1, failedAt: 4 };
    for (const line of textOf(columns, never, { ...never, file: "b" }, long, { ...long, file: "c" }).split("\n"))
      expect(line.length, line).toBeLessThanOrEqual(columns);
  });
});
