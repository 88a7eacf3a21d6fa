import { tokens } from "../../schema/brand.ts";
import { describe, expect, it } from "vitest";
import { settingsFor } from "../../../../../test/fixture/compacting.ts";
import { headroomBelow, computeBudgets, restoreBudgetsWithin, waitingTokensMax } from "./compaction-budgets.ts";

const windows = [8_000, 16_000, 32_000, 64_000, 128_000, 200_000, 400_000, 1_000_000];
const at = (windowTokens: number, staysTokens: number) => {
  const { thresholds, policy } = settingsFor({ windowTokens });
  return { thresholds, policy, budgets: computeBudgets({ thresholds, policy, staysTokens }) };
};

describe.each(windows)("behind a boundary in a window of %i", (windowTokens) => {
  it("an extract, the ledger and what is put back fit the room together, below the threshold with headroom", () => {
    const { thresholds, policy, budgets } = at(windowTokens, windowTokens / 10);
    expect(budgets.room + windowTokens / 10).toBeLessThanOrEqual(
      thresholds.compact - headroomBelow(thresholds.compact, policy),
    );
    const { extract, ledger } = budgets;
    expect(extract + ledger + (budgets.room - extract - ledger) * (1 / 3)).toBeLessThanOrEqual(budgets.room);
    expect(budgets.restored).toBeLessThanOrEqual(budgets.room / 3);
    expect(budgets.ledger).toBeLessThanOrEqual(windowTokens / 10);
  });

  it("what is put back is less than half of what is covered, or a short session would be no smaller", () => {
    const { thresholds, policy } = at(windowTokens, 0);
    const { restored } = computeBudgets({ thresholds, policy, staysTokens: 0, coveredTokens: 2_000 });
    expect(restored).toBeGreaterThan(0);
    expect(restored).toBeLessThan(1_000);
  });

  it.each([0, 0.5, 0.9, 0.999, 1, 2])("nothing is negative where %d of the window stays as it is", (share) => {
    const { budgets, thresholds, policy } = at(windowTokens, windowTokens * share);
    for (const value of Object.values(budgets)) expect(value).toBeGreaterThanOrEqual(0);
    const { tokensMax } = restoreBudgetsWithin(thresholds, { policy, roomTokens: budgets.room - 1_000_000 });
    expect(tokensMax).toBe(0);
  });

  it("over the threshold there is still room for a small summary, up to what can be sent", () => {
    const { thresholds } = at(windowTokens, 0);
    const stays = Math.floor((thresholds.compact + thresholds.blocking) / 2);
    const { room, extract } = at(windowTokens, stays).budgets;
    expect(room).toBeGreaterThan(0);
    expect(extract).toBeGreaterThan(0);
    expect(stays + room).toBeLessThan(thresholds.blocking);
  });
});

describe("budgets", () => {
  it.each([
    [8_000, { summary: 800, carried: 320 }],
    [200_000, { summary: 20_000, carried: 4_000 }],
    [1_000_000, { summary: 20_000, carried: 4_000 }],
  ])("of a window of %i are shares of it, up to what is enough in any window", (windowTokens, expected) => {
    expect(at(windowTokens, 0).budgets).toMatchObject(expected);
  });

  it("of 200,000 with nothing that stays, by hand", () => {
    // 200,000 − 20,000 − 13,000 = 167,000; 10,000 of headroom leave 157,000.
    expect(at(200_000, 0).budgets).toEqual({
      room: 157_000,
      summary: 20_000,
      extract: 10_000,
      ledger: 20_000,
      carried: 4_000,
      restored: 52_333,
    });
  });

  it("a policy that keeps no words of people has no ledger", () => {
    const { thresholds, policy } = settingsFor({ flags: [["policy", "claude-code-2026"]] });
    expect(computeBudgets({ thresholds, policy, staysTokens: 0 }).ledger).toBe(0);
  });

  it("what is put back has the policy's numbers, in the room that is left", () => {
    const { thresholds, policy } = settingsFor({});
    const budgets = restoreBudgetsWithin(thresholds, { policy, roomTokens: 1_234.5 });
    expect(budgets).toMatchObject({
      tokensMax: 1_234,
      files: { piecesMax: 5, pieceTokensMax: 5_000, tokensMax: 50_000 },
      skills: { pieceTokensMax: 5_000, tokensMax: 25_000 },
    });
  });
});

it.each([
  ["a small fixed part leaves a message most of the threshold", 1_000, 14_000],
  ["a larger one leaves it less", 6_000, 9_000],
  ["but never less than two fifths", 15_000, 8_000],
])("%s", (_rule, fixedTokens, tokensMax) => {
  expect(waitingTokensMax({ compact: tokens(20_000) }, fixedTokens)).toBe(tokensMax);
});
