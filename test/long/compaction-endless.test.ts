import { it } from "vitest";
import { expectFlat } from "../scenario/support/long-session.ts";

it("2,000 rounds with a window of 200K: context, memory and cost of a round stay flat", async () => {
  await expectFlat({ rounds: 2_000, windowTokens: 200_000, wordsPerRound: 300, roundsPerTurn: 50 });
});
