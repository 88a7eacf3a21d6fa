import * as fc from "fast-check";
import type { CostSession } from "../../packages/lab/src/cost-session.ts";

/** Prices as vendors set them and any others, as long as reading from the cache is no dearer than doing without it. */
export const arbitraryRates: fc.Arbitrary<CostSession["rates"]> = fc.oneof(
  fc.constantFrom({ read: 0.1, write: 1.25, output: 5 }, { read: 0.1, write: 2, output: 5 }),
  fc
    .record({ read: fc.integer({ min: 0, max: 100 }), over: fc.integer({ min: 0, max: 200 }), output: fc.nat(10) })
    .map(({ read, over, output }) => ({ read: read / 100, write: (read + over) / 100, output })),
);

/** Results are larger than what stands between them, some empty: only so does a cut pay within a few rounds. */
const arbitraryOther = fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 30 }));
const arbitraryResult = fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 200 }));

export interface SessionSize {
  readonly roundsMin: number;
  readonly roundsMax: number;
  /** In one round. */
  readonly resultsMax: number;
}

/** Without a window. In some cold rounds other sessions share the same part of the header. */
export const arbitrarySession = (size: SessionSize): fc.Arbitrary<CostSession> =>
  fc.record({ session: arbitraryUnshared(size), share: fc.nat(100) }).map(({ session, share }) => ({
    ...session,
    rounds: session.rounds.map((round) => ({
      ...round,
      ...(round.isShared ? { sharedTokens: Math.min(share, session.headerTokens) } : {}),
    })),
  }));

const arbitraryUnshared = ({ roundsMin, roundsMax, resultsMax }: SessionSize) =>
  fc.record({
    headerTokens: fc.nat(100),
    rates: arbitraryRates,
    staleAfterRounds: fc.integer({ min: 1, max: 3 }),
    compaction: fc.record({ leavesTokens: fc.nat(40), outputTokens: fc.nat(4) }),
    rounds: fc.array(
      fc.record({
        cold: fc.nat(7).map((chance) => chance === 0),
        isShared: fc.boolean(),
        otherTokens: arbitraryOther,
        resultTokens: fc.array(arbitraryResult, { maxLength: resultsMax }),
      }),
      { minLength: roundsMin, maxLength: roundsMax, size: "max" },
    ),
  });
