import { expect, it } from "vitest";
import { gapRows, remainingRounds } from "./session-curves.ts";

const minute = 60_000;
/** Rounds at these minutes. */
const session = (...minutes: readonly number[]) => ({ rounds: minutes.map((at) => ({ at: at * minute })) });

it("further rounds are counted over the sessions that are not over by then", () => {
  const sessions = [12, 30].map((length) => session(...Array.from({ length }, (_, at) => at)));
  expect(remainingRounds(sessions)).toEqual([
    { roundsSoFar: 0, sessions: 2, mean: 21, median: 30 },
    { roundsSoFar: 10, sessions: 2, mean: 11, median: 20 },
    { roundsSoFar: 20, sessions: 1, mean: 10, median: 10 },
  ]);
});

it("a gap is counted by the rounds since the one before it", () => {
  const rows = gapRows([session(0, 1, 11, 12, 30, 31, 200)]);
  expect(rows).toEqual([
    { roundsMax: "none", rounds: 2, gaps: 1 },
    { roundsMax: 10, rounds: 4, gaps: 1 },
    { roundsMax: 30, rounds: 0, gaps: 0 },
    { roundsMax: Infinity, rounds: 0, gaps: 0 },
  ]);
});
