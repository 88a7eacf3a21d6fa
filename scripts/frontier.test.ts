import { expect, it } from "vitest";
import { compare, type SessionFigures } from "./frontier.ts";

const session = (cost: number, more: Partial<SessionFigures> = {}): SessionFigures => ({
  session: 1,
  rounds: 50,
  cost,
  edits: 0,
  refetched: 0,
  compactions: 0,
  ...more,
});

it("savings are over all sessions together, and counts for 100 rounds", () => {
  const baseline = [session(300_000), session(100_000, { session: 2 })];
  const row = compare(
    [session(150_000, { edits: 3, refetched: 1, compactions: 2 }), session(110_000, { session: 2 })],
    baseline,
  );
  expect(row).toMatchObject({ edits: 3, refetched: 1, compactions: 2, dearer: 0.5 });
  expect(row.saving).toBeCloseTo(1 - 260 / 400);
  expect(row.savingWithRework).toBeCloseTo(1 - 340 / 400);
  expect(row.worst).toBeCloseTo(0.1);
});

it("a session that the baseline did not complete does not count", () => {
  expect(compare([session(1), session(50, { session: 2 })], [session(100, { session: 2 })]).saving).toBeCloseTo(0.5);
});
