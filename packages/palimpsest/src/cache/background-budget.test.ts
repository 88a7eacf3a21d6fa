import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Millis, millis, nanoUsd } from "../schema/brand.ts";
import { findModel } from "../tokens/known-models.ts";
import { budgetStart, checkBudget, estimateFork, type SpendEntry, spendDay, sumSpend } from "./background-budget.ts";
import type { CostSource } from "./cost-ledger.ts";
import { backgroundDayNanosMin, backgroundShareMax } from "./limits.ts";

const day = 24 * 60 * 60 * 1000;
const noon = millis(Date.UTC(2026, 10, 17, 12));
const cents = (count: number) => nanoUsd(Math.round(count * 10_000_000));
const paid = (source: CostSource, count: number, daysAgo = 0): SpendEntry => ({
  at: millis(noon - daysAgo * day),
  source,
  nanos: cents(count),
});
/** As a log gives it. */
const sumsAt = (now: Millis, entries: readonly SpendEntry[]) =>
  sumSpend(entries.filter(({ at }) => at >= budgetStart(now)));

describe("background work", () => {
  it.each<[string, readonly SpendEntry[], number, "ok" | "over"]>([
    ["may start in a new project", [], 1, "ok"],
    ["may start up to five cents a day, whatever the rest costs", [paid("extraction", 4)], 1, "ok"],
    ["may not pass five cents a day with what it is about to cost", [paid("extraction", 4)], 1.1, "over"],
    ["may not start if one run alone costs more than a day allows", [], 5.1, "over"],
    ["may cost 5 % of the rest", [paid("main", 200), paid("dream", 9)], 1, "ok"],
    ["may not cost more than that", [paid("main", 200), paid("dream", 9)], 1.1, "over"],
    [
      "counts notes, extraction and dreams together",
      [paid("notes", 2), paid("extraction", 2), paid("dream", 1)],
      1,
      "over",
    ],
    [
      "counts agents, summaries and recall as the rest",
      [paid("agents", 100), paid("compact", 60), paid("recall", 40), paid("dream", 9)],
      1,
      "ok",
    ],
    ["has a new five cents tomorrow", [paid("extraction", 5, 1)], 5, "ok"],
    ["may use what earlier days of the week have earned", [paid("main", 400, 6), paid("dream", 9)], 10, "ok"],
    ["may not use what was earned over a week ago", [paid("main", 400, 8), paid("dream", 9)], 1, "over"],
  ])("%s", (_, entries, estimate, kind) => {
    expect(checkBudget({ spent: sumsAt(noon, entries), estimateNanos: cents(estimate), now: noon }).kind).toBe(kind);
  });

  it("is told to be paused in words, with what it cost, what is allowed and what comes next", () => {
    const spent = sumSpend([paid("main", 120), paid("extraction", 6)]);
    expect(checkBudget({ spent, estimateNanos: cents(1), now: noon })).toMatchObject({
      kind: "over",
      message:
        "Background memory work is paused. In the last seven days it has cost $0.06 of the $0.06 allowed (5% of the $1.20 that everything else cost), today $0.06 of the $0.05 that every day allows, and its next step would cost about $0.01. It goes on by itself when there is room again.",
    });
  });

  it("never passes the larger of 5 % and five cents a day by more than one estimate, if no run costs over twice its estimate", () => {
    const step = fc.record({
      afterMs: fc.integer({ min: 0, max: day }),
      mainCents: fc.integer({ min: 0, max: 300 }),
      estimateCents: fc.integer({ min: 0, max: 10 }),
      costShare: fc.double({ min: 0, max: 2, noNaN: true }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const entries: SpendEntry[] = [];
        let now: Millis = noon;
        for (const { afterMs, mainCents, estimateCents, costShare } of steps) {
          now = millis(now + afterMs);
          entries.push({ at: now, source: "main", nanos: cents(mainCents) });
          const estimateNanos = cents(estimateCents);
          if (checkBudget({ spent: sumsAt(now, entries), estimateNanos, now }).kind === "over") continue;
          entries.push({ at: now, source: "dream", nanos: nanoUsd(Math.floor(estimateNanos * costShare)) });
          const { mainNanos, backgroundNanos, byDay } = sumsAt(now, entries);
          const today = byDay.get(spendDay(now))?.backgroundNanos ?? 0;
          const isWithinShare = backgroundNanos <= mainNanos * backgroundShareMax + estimateNanos;
          expect(isWithinShare || today <= backgroundDayNanosMin + estimateNanos).toBe(true);
        }
      }),
    );
  });
});

describe("the estimate of a fork", () => {
  const model = { prices: { input: 3, cacheWrite5m: 3.75, cacheWrite1h: 6, cacheRead: 0.3, output: 15 } };
  const size = { contextTokens: 100_000, directiveTokens: 2_000, outputTokens: 1_000 };

  it("is its context from the cache, its directive uncached, and its output", () => {
    expect(estimateFork(model, size)).toBe(30_000_000 + 6_000_000 + 15_000_000);
  });

  it("has context and directive once for each request", () => {
    expect(estimateFork(model, { ...size, requests: 3 })).toBe(3 * 36_000_000 + 15_000_000);
  });

  it("has the prices of a long prompt, if the model has such", () => {
    const longPrompt = { overTokens: 101_000, prices: { ...model.prices, cacheRead: 0.6 } };
    expect(estimateFork({ ...model, longPrompt }, size)).toBe(60_000_000 + 6_000_000 + 15_000_000);
  });

  it("is 0 for a model without a known price", () => {
    expect(estimateFork(findModel("somebody-s-own"), size)).toBe(0);
  });
});
