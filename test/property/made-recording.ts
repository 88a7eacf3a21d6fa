import * as fc from "fast-check";
import type { CacheEvent, Recording } from "../../packages/lab/src/recording/recording.ts";
import { madeRecording, type MadeRound } from "../fixture/replay/made-recording.ts";

const arbitraryRound: fc.Arbitrary<MadeRound> = fc.record({
  afterMillis: fc.oneof(
    { weight: 8, arbitrary: fc.constant(10_000) },
    { weight: 1, arbitrary: fc.constantFrom(299_999, 300_000, 3_599_999, 3_600_000) },
  ),
  said: fc.integer({ min: 1, max: 400 }),
  reply: fc.integer({ min: 1, max: 300 }),
  cacheEvents: fc.subarray<CacheEvent>(["header-shared"]),
  results: fc.array(fc.oneof(fc.integer({ min: 1, max: 400 }), fc.integer({ min: 1, max: 9_000 })), { maxLength: 3 }),
});

/** Sessions with gaps around both lifetimes, headers that others share, and results that are worth clearing. */
export const arbitraryRecording = (size: {
  readonly roundsMin: number;
  readonly roundsMax: number;
}): fc.Arbitrary<Recording> =>
  fc
    .record({
      headerTokens: fc.integer({ min: 2_000, max: 40_000 }),
      sharedTokens: fc.integer({ min: 1_500, max: 50_000 }),
      rounds: fc.array(arbitraryRound, { minLength: size.roundsMin, maxLength: size.roundsMax, size: "max" }),
    })
    .map(({ headerTokens, sharedTokens, rounds }) =>
      madeRecording(rounds, { headerTokens, sharedTokens: Math.min(headerTokens, sharedTokens) }),
    );
