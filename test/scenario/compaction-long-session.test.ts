import { describe, it } from "vitest";
import { expectFlat, expectSurvives } from "./support/long-session.ts";

describe("a long session (longer ones in the long run)", () => {
  it("five compactions in a row with an adversary for a summariser: every word of the user's, none invented, all recoverable", () =>
    expectSurvives(5));

  it("150 rounds: context, memory and cost of a round stay flat", async () => {
    await expectFlat({ rounds: 152, windowTokens: 40_000, wordsPerRound: 200, roundsPerTurn: 19 });
  });
});
