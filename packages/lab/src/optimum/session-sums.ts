import type { CostSession } from "../cost-session.ts";

/**
 * A session as the optima read it. Results of one round count as one: they stand side by side and become stale together,
 * so a cut at the first of them costs what a cut at the last does. Arrays are by round, and all but `cold` and
 * `resultTokens` have an entry for the end of the session too.
 */
export interface SessionSums {
  readonly rounds: number;
  readonly headerTokens: number;
  readonly rates: CostSession["rates"];
  readonly staleAfterRounds: number;
  /** 1 where the cache is gone; in round 0 there was none. */
  readonly cold: Uint8Array;
  readonly resultTokens: Float64Array;
  /** Tokens that all earlier rounds brought. */
  readonly otherTokensBefore: Float64Array;
  readonly resultTokensBefore: Float64Array;
  /** The oldest round whose results are not stale in this one's request. */
  readonly freshRound: Int32Array;
}

/** @throws RangeError for a session outside the algebra: results stale at birth, or a cache dearer to read than to miss. */
export function sessionSums(session: CostSession): SessionSums {
  const { headerTokens, rounds, rates, staleAfterRounds } = session;
  if (!Number.isInteger(staleAfterRounds) || staleAfterRounds < 1)
    throw new RangeError(`results stale after ${staleAfterRounds} rounds`);
  if (!(rates.read >= 0 && rates.read <= uncachedRate(rates)))
    throw new RangeError(`reading at ${rates.read}, writing at ${rates.write}`);

  const resultTokens = Float64Array.from(rounds, (round) =>
    round.resultTokens.reduce((sum, tokens) => sum + tokens, 0),
  );
  return {
    rounds: rounds.length,
    headerTokens,
    rates,
    staleAfterRounds,
    cold: Uint8Array.from(rounds, ({ cold }, round) => (cold || round === 0 ? 1 : 0)),
    resultTokens,
    otherTokensBefore: totalsBefore(Float64Array.from(rounds, ({ otherTokens }) => otherTokens)),
    resultTokensBefore: totalsBefore(resultTokens),
    freshRound: Int32Array.from({ length: rounds.length + 1 }, (_, round) => Math.max(0, round - staleAfterRounds + 1)),
  };
}

/** What a token costs that a compaction's call does not find in the cache: a call that leaves nothing there pays for no writing. */
export const uncachedRate = ({ write }: CostSession["rates"]): number => Math.min(1, write);

export const newTokens = ({ otherTokensBefore, resultTokens }: SessionSums, round: number): number =>
  valueAt(otherTokensBefore, round + 1) - valueAt(otherTokensBefore, round) + valueAt(resultTokens, round);

/**
 * What a request holds of rounds `from` and later that came before it, once everything stale is cleared: others, and
 * results that are not stale.
 */
export function standingTokens(sums: SessionSums, { from, round }: { from: number; round: number }): number {
  const { otherTokensBefore, resultTokensBefore, freshRound } = sums;
  return (
    valueAt(otherTokensBefore, round) -
    valueAt(otherTokensBefore, from) +
    valueAt(resultTokensBefore, round) -
    valueAt(resultTokensBefore, Math.max(from, valueAt(freshRound, round)))
  );
}

/** The value at a place that the caller knows to be there; inlined in hot loops. */
export function valueAt(values: Float64Array | Int32Array | Uint8Array, index: number): number {
  const value = values[index];
  if (value === undefined) throw new RangeError(`no value at ${index} of ${values.length}`);
  return value;
}

function totalsBefore(values: Float64Array): Float64Array {
  const totals = new Float64Array(values.length + 1);
  for (const [place, value] of values.entries()) totals[place + 1] = valueAt(totals, place) + value;
  return totals;
}
