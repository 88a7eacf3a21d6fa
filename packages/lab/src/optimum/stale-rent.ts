import type { CostSession } from "../cost-session.ts";

/**
 * The minimum cost of stale results between two free moments: the recursion behind both optima.
 *
 * With r the price of reading, w of writing, C_t the tokens of request t and P_t those that it shares with the previous
 * request, a warm request costs r·P_t + w·(C_t − P_t) = r·C_t + (w − r)·(new_t + S_t), where S_t are the old tokens after
 * the first result that t clears. So stale results have two prices: the **rent**, r·X for each request that still contains
 * X tokens of them, and the **cut**, (w − r)·S for each request that clears some.
 *
 * Four facts make it a recursion over rounds, with K = `staleAfterRounds`:
 * 1. A cut at a result can also clear everything stale after it at no extra cost, which is never worse. Hence
 *    S(t, i) = others of i+1…t−1 + results of t−K+1…t−1 for a cut at round i's results, whatever was done before.
 * 2. Results of one round are adjacent and become stale together; by 1 they are cleared together. X_i is their sum.
 * 3. In a cold round and at the end of the session a cut costs nothing. Everything stale is cleared, and what was done
 *    before such a free moment no longer matters.
 * 4. For rounds after i, a cut at i in round t is a free moment too.
 *
 * So for rounds i… uncut, s_i = i + K, and b the next free moment
 *
 *   H(i, b) = 0                                                              if s_i ≥ b; else the minimum of
 *     r·X_i·(b − s_i) + H(i+1, b)                                            i is never cut
 *     r·X_i·(t − s_i) + H(i+1, t) + (w − r)·S(t, i) + H(t−K+1, b)            i is cut at t, s_i ≤ t < b
 *
 * A compaction before request b reads the context in a separate call. That call may cut too, but what it misses costs u
 * instead of w:
 *
 *   H'(i, b) = 0                                                             if s_i > b; else the minimum of
 *     r·X_i·(b + 1 − s_i) + H'(i+1, b)
 *     r·X_i·(t − s_i) + H(i+1, t) + (w − r)·S(t, i) + H'(t−K+1, b)           s_i ≤ t < b
 *     r·X_i·(b − s_i) + H(i+1, b) + (u − r)·S(b, i)
 *
 * b increases, i decreases. Takes O(n³) time and memory for n² numbers, for n rounds between two cold ones.
 */
export class StaleRent {
  readonly #sums: SessionSums;
  /** By round: (w − r)·tokens of others before it. */
  readonly #otherCost: Float64Array;
  /** By round t: the part of (w − r)·S(t, i) that does not depend on i. */
  readonly #remainingCost: Float64Array;
  /** H(·, b) at the boundary b; 0 if nothing is stale yet. */
  readonly #rentUntil: Float64Array;
  /** H'(·, b), likewise. */
  readonly #rentThroughCall: Float64Array;
  #boundary = 0;
  #stretch: WarmStretch;

  constructor(sums: SessionSums) {
    const extra = sums.rates.write - sums.rates.read;
    this.#sums = sums;
    this.#otherCost = sums.otherTokensBefore.map((tokens) => extra * tokens);
    this.#remainingCost = sums.otherTokensBefore.map((_, round) => extra * remainingTokens(sums, { from: 0, round }));
    this.#rentUntil = new Float64Array(sums.rounds + 1);
    this.#rentThroughCall = new Float64Array(sums.rounds + 1);
    this.#stretch = openStretch(sums, 0);
  }

  /** Moves the boundary b forward by one round and computes H(·, b). */
  advance(): void {
    if (this.#boundary > 0 && valueAt(this.#sums.cold, this.#boundary) === 1)
      this.#stretch = openStretch(this.#sums, this.#boundary);
    const boundary = ++this.#boundary;
    const { freshFrom, roundFrom, width, rentByPlace } = this.#stretch;
    for (let round = boundary - 1 - this.#sums.staleAfterRounds; round >= freshFrom; round--) {
      const keep = this.#rent(round) * this.#staleRounds(round) + valueAt(this.#rentUntil, round + 1);
      const least = this.#leastCut(this.#rentUntil, { round, keep });
      this.#rentUntil[round] = least;
      rentByPlace[(round - freshFrom) * width + boundary - roundFrom] = least;
    }
  }

  /** H(round, b), for a round whose results were not stale at the last free moment before b. */
  until(round: number): number {
    return valueAt(this.#rentUntil, round);
  }

  /** Computes H'(·, b), at the same cost as `advance`. */
  advanceCall(): void {
    const { rates, staleAfterRounds } = this.#sums;
    const boundary = this.#boundary;
    for (let round = boundary - staleAfterRounds; round >= this.#stretch.freshFrom; round--) {
      const survivors = remainingTokens(this.#sums, { from: round + 1, round: boundary });
      const rentBefore = this.#rent(round) * this.#staleRounds(round);
      const keep = Math.min(
        rentBefore + this.#rent(round) + valueAt(this.#rentThroughCall, round + 1),
        rentBefore + valueAt(this.#rentUntil, round + 1) + (cacheMissRate(rates) - rates.read) * survivors,
      );
      this.#rentThroughCall[round] = this.#leastCut(this.#rentThroughCall, { round, keep });
    }
  }

  /** H'(round, b), as computed by the last `advanceCall`. */
  throughCall(round: number): number {
    return valueAt(this.#rentThroughCall, round);
  }

  /**
   * The minimum of `keep` and of all cuts at a round's results before the boundary; `after` holds the cost of the later
   * rounds from a cut on.
   *
   * It stops early. A plan that cuts i at t is, without i, a plan for the rounds from i+1 on with a cut that costs no more.
   * So it costs at least i's rent plus the minimum for i+1 on, and the rent only grows. This is the bound of ski rental,
   * t − s_i < ((w − r)/r)·S/X.
   */
  #leastCut(after: Float64Array, { round, keep }: { readonly round: number; readonly keep: number }): number {
    const { staleAfterRounds } = this.#sums;
    const { freshFrom, roundFrom, width, rentByPlace } = this.#stretch;
    const remainingCost = this.#remainingCost;
    const rent = this.#rent(round);
    const costInFront = valueAt(this.#otherCost, round + 1);
    const next = valueAt(after, round + 1);
    const nextPlace = (round + 1 - freshFrom) * width - roundFrom;
    let least = keep;
    let rentSoFar = 0;
    for (let at = round + staleAfterRounds; at < this.#boundary && rentSoFar + next < least; at++) {
      const rentBeforeCut = rentSoFar + valueAt(rentByPlace, nextPlace + at);
      const cost = rentBeforeCut + valueAt(remainingCost, at) - costInFront + valueAt(after, at - staleAfterRounds + 1);
      if (cost < least) least = cost;
      rentSoFar += rent;
    }
    return least;
  }

  #rent(round: number): number {
    return this.#sums.rates.read * valueAt(this.#sums.resultTokens, round);
  }

  /** The number of requests before the boundary in which a round's results were stale: b − s_i. */
  #staleRounds(round: number): number {
    return this.#boundary - round - this.#sums.staleAfterRounds;
  }
}

/** The rounds from one free moment to the next. */
interface WarmStretch {
  readonly roundFrom: number;
  /** The first round whose results were not stale at the free moment and so are still there. */
  readonly freshFrom: number;
  readonly width: number;
  /** H(i, t) at (i − freshFrom)·width + t − roundFrom. */
  readonly rentByPlace: Float64Array;
}

function openStretch({ cold, rounds, freshRound, staleAfterRounds }: SessionSums, roundFrom: number): WarmStretch {
  const nextCold = cold.indexOf(1, roundFrom + 1);
  const roundEnd = nextCold === -1 ? rounds : nextCold;
  const freshFrom = valueAt(freshRound, roundFrom);
  const width = roundEnd - roundFrom + 1;
  // One row more than rounds that become stale: after the last of them there is nothing to pay.
  const rows = Math.max(0, roundEnd - staleAfterRounds - freshFrom) + 1;
  return { roundFrom, freshFrom, width, rentByPlace: new Float64Array(rows * width) };
}

/**
 * The input of the optima. Results of one round count as one: they are adjacent and become stale together, so a cut at the
 * first costs as much as a cut at the last. Arrays are indexed by round, and all but `cold`, `sharedTokens` and `resultTokens`
 * also have an entry for the end of the session.
 */
export interface SessionSums {
  readonly rounds: number;
  readonly headerTokens: number;
  readonly rates: CostSession["rates"];
  readonly staleAfterRounds: number;
  /** 1 if the cache has expired; always 1 in round 0. */
  readonly cold: Uint8Array;
  /** The beginning of the header that is cached in a cold round; 0 in all others. */
  readonly sharedTokens: Float64Array;
  readonly resultTokens: Float64Array;
  /** The sums over all earlier rounds. */
  readonly otherTokensBefore: Float64Array;
  readonly resultTokensBefore: Float64Array;
  /** The oldest round whose results are not stale in this one's request. */
  readonly freshRound: Int32Array;
}

/** @throws RangeError for a session that the recursion does not cover: results that are stale at once, or a cache that costs more to read than to miss. */
export function sessionSums(session: CostSession): SessionSums {
  const { headerTokens, rounds, rates, staleAfterRounds } = session;
  if (!Number.isInteger(staleAfterRounds) || staleAfterRounds < 1)
    throw new RangeError(`results stale after ${staleAfterRounds} rounds`);
  if (!(rates.read >= 0 && rates.read <= cacheMissRate(rates)))
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
    sharedTokens: Float64Array.from(rounds, ({ cold, sharedTokens = 0 }, round) =>
      cold || round === 0 ? sharedTokens : 0,
    ),
    resultTokens,
    otherTokensBefore: totalsBefore(Float64Array.from(rounds, ({ otherTokens }) => otherTokens)),
    resultTokensBefore: totalsBefore(resultTokens),
    freshRound: Int32Array.from({ length: rounds.length + 1 }, (_, round) => Math.max(0, round - staleAfterRounds + 1)),
  };
}

/** The cost of an uncached token in a compaction's call, which writes nothing to the cache and so does not pay for writing. */
export const cacheMissRate = ({ write }: CostSession["rates"]): number => Math.min(1, write);

export const newTokens = ({ otherTokensBefore, resultTokens }: SessionSums, round: number): number =>
  valueAt(otherTokensBefore, round + 1) - valueAt(otherTokensBefore, round) + valueAt(resultTokens, round);

/**
 * The tokens in a request from the earlier rounds since `from`, after everything stale is cleared: others, and results that
 * are not stale.
 */
export function remainingTokens(sums: SessionSums, { from, round }: { from: number; round: number }): number {
  const { otherTokensBefore, resultTokensBefore, freshRound } = sums;
  return (
    valueAt(otherTokensBefore, round) -
    valueAt(otherTokensBefore, from) +
    valueAt(resultTokensBefore, round) -
    valueAt(resultTokensBefore, Math.max(from, valueAt(freshRound, round)))
  );
}

/** The value at an index that the caller knows to exist; V8 inlines it in hot loops. */
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
