import { describe, expect, it } from "vitest";
import { byKind, type FidelityOutcome, noFates } from "@palimpsest/lab/internal/fidelity/fidelity-outcome";
import { FidelityTally } from "@palimpsest/lab/internal/fidelity/fidelity-tally";
import { fidelityText } from "./show-measured.ts";

const outcome: FidelityOutcome = {
  file: "a.jsonl",
  policy: "palimpsest",
  window: 80_000,
  summariser: "rules",
  compaction: 1,
  round: 9,
  summary: "shared",
  userMessages: 8,
  userMessagesVerbatim: 7,
  userMessagesByReference: 1,
  facts: {
    ...byKind(() => noFates),
    userMessages: { shown: 7, recoverable: 1, named: 1, lost: 0 },
    commands: { shown: 1, recoverable: 1, named: 0, lost: 1 },
  },
  neededLater: { ...byKind(() => noFates), commands: { shown: 1, recoverable: 0, named: 0, lost: 1 } },
  tokensBefore: 66_000,
  tokensAfter: 22_000,
};

const textOf = (outcomes: readonly FidelityOutcome[]): string => {
  const tally = new FidelityTally();
  const runs = [
    { policy: "palimpsest", compactions: outcomes.length },
    { policy: "none", compactions: 0, failedAt: 7 },
  ];
  tally.add({ outcomes, runs });
  return fidelityText(tally.figures(), { window: 80_000, summariser: "rules", compactions: [1, 10] });
};

describe("fidelity as text", () => {
  it("says the window, who summarised, which policies have no figures and which compactions nobody came to", () => {
    const text = textOf([outcome]).replaceAll("\n", " ");
    expect(text).toMatch(/^1 session under a window of 80,000 tokens\. Summaries by one set of rules/);
    expect(text).toContain("No compaction, so no figures: none.");
    expect(text).toContain("Could send nothing that fits from some round on: none in 1.");
    expect(text).toContain("No policy came to compaction 10: a smaller --window has more of them.");
  });

  it("has shares rounded down, a dash where there is no such fact, and a bar that shows a single loss", () => {
    const lines = textOf([outcome]).split("\n");
    expect(lines.filter((line) => line.startsWith("palimpsest"))).toEqual([
      "palimpsest    87    -     -    33     -     -    -     -     -",
      "palimpsest         1     12     2     1      50     1  66,000  22,000",
      `palimpsest  ${"█".repeat(36)}${"▒".repeat(9)}${"·".repeat(5)}`,
    ]);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
  });

  it("has no table where nothing was compacted", () => {
    expect(textOf([])).not.toContain("After compaction");
  });
});
