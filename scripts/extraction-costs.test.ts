import { expect, it } from "vitest";
import type { TurnRecords } from "../packages/lab/src/memory/replay-extraction.ts";
import { measureRule } from "./extraction-costs.ts";

const session = (...said: readonly string[]): TurnRecords => ({
  turns: said.map((message, round) => ({
    round: 20 * round,
    ended: "completely",
    said: [message],
    tokens: 1_000,
    forkCost: 1_000,
  })),
  cost: 100_000,
  outputRate: 5,
});

it("a rule is measured in per cent of what the conversations cost and of the messages that matter", () => {
  const sessions = [session("never do that", "go on"), session("what matters", "go on")];
  const matters = (message: string): boolean => message !== "go on";
  const [found, nothing] = [1.2 * 1_000 + 5 * 400, 1.2 * 1_000 + 5 * 20];
  expect(measureRule({ corrections: "at-once", atEnd: "while-warm" }, { sessions, matters })).toEqual({
    forks: 3,
    costPercent: (100 * (found + 2 * nothing)) / 200_000,
    soonPercent: 50,
    beforeEndPercent: 50,
    everPercent: 100,
  });
});
