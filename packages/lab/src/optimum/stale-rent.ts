import type { CostSession } from "../cost-session.ts";

/**
 * The least that stale results cost between two free moments: the recursion behind both optima.
 *
 * With r the price of reading, w of writing, C_t the tokens of request t and P_t those it shares with the request
 * before, a warm request costs r·P_t + w·(C_t − P_t) = r·C_t + (w − r)·(new_t + S_t), where S_t is what stands behind
 * the first result that t clears and was there before. So stale results have two prices: **rent**, r·X for each request
 * that still holds X tokens of them, and the **cut**, (w − r)·S for each request that clears some.
 *
 * Four facts make it a recursion over rounds, with K = `staleAfterRounds`:
 * 1. A cut at a result may take everything stale behind it along: that costs nothing and never hurts. Hence
 *    S(t, i) = others of i+1…t−1 + results of t−K+1…t−1 for a cut at round i's results, whatever was done before.
 * 2. Results of one round stand side by side and become stale together; by 1 they go together. X_i is their sum.
 * 3. In a cold round and at the end of the session a cut costs nothing. Everything stale goes, and what was done before
 *    such a free moment matters no more.
 * 4. For rounds behind i, a cut at i in round t is a free moment too.
 *
 * So for rounds i… uncut, s_i = i + K, and b the next free moment
 *
 *   H(i, b) = 0                                                              if s_i ≥ b; else the least of
 *     r·X_i·(b − s_i) + H(i+1, b)                                            i is never cut
 *     r·X_i·(t − s_i) + H(i+1, t) + (w − r)·S(t, i) + H(t−K+1, b)            i is cut at t, s_i ≤ t < b
 *
 * A compaction before request b reads the context in a call of its own: a request in which one may cut too, only that
 * what it misses costs u instead of w:
 *
 *   H'(i, b) = 0                                                             if s_i > b; else the least of
 *     r·X_i·(b + 1 − s_i) + H'(i+1, b)
 *     r·X_i·(t − s_i) + H(i+1, t) + (w − r)·S(t, i) + H'(t−K+1, b)           s_i ≤ t < b
 *     r·X_i·(b − s_i) + H(i+1, b) + (u − r)·S(b, i)
 *
 * b goes up, i goes down. O(n³) time and n² numbers of memory for n rounds between two cold ones.
 */
export class StaleRent {
  readonly #sums: SessionSums;
  /** By round: (w − r)·tokens of others before it; and the part of (w − r)·S(t, i) that does not depend on i. */
  readonly #otherCost: Float64Array;
  readonly #standingCost: Float64Array;
  /** H(·, b) and H'(·, b) at the boundary b; zero where nothing is stale yet. */
  readonly #held: Float64Array;
  readonly #read: Float64Array;
  #boundary = 0;
  #stretch: WarmStretch;

  constructor(sums: SessionSums) {
    const extra = sums.rates.write - sums.rates.read;
    this.#sums = sums;
    this.#otherCost = sums.otherTokensBefore.map((tokens) => extra * tokens);
    this.#standingCost = sums.otherTokensBefore.map((_, round) => extra * remainingTokens(sums, { from: 0, round }));
    this.#held = new Float64Array(sums.rounds + 1);
    this.#read = new Float64Array(sums.rounds + 1);
    this.#stretch = openStretch(sums, 0);
  }

  /** Moves the boundary b one round on, and works out H(·, b). */
  advance(): void {
    if (this.#boundary > 0 && valueAt(this.#sums.cold, this.#boundary) === 1)
      this.#stretch = openStretch(this.#sums, this.#boundary);
    const boundary = ++this.#boundary;
    const { freshFrom, roundFrom, width, heldByPlace } = this.#stretch;
    for (let round = boundary - 1 - this.#sums.staleAfterRounds; round >= freshFrom; round--) {
      const keep = this.#rent(round) * this.#staleRounds(round) + valueAt(this.#held, round + 1);
      const least = this.#leastCut(this.#held, { round, keep });
      this.#held[round] = least;
      heldByPlace[(round - freshFrom) * width + boundary - roundFrom] = least;
    }
  }

  /** H(round, b), for a round whose results were not stale at the last free moment before b. */
  until(round: number): number {
    return valueAt(this.#held, round);
  }

  /** Works out H'(·, b), as dear as `advance`. */
  advanceCall(): void {
    const { rates, staleAfterRounds } = this.#sums;
    const boundary = this.#boundary;
    for (let round = boundary - staleAfterRounds; round >= this.#stretch.freshFrom; round--) {
      const survivors = remainingTokens(this.#sums, { from: round + 1, round: boundary });
      const rentBefore = this.#rent(round) * this.#staleRounds(round);
      const keep = Math.min(
        rentBefore + this.#rent(round) + valueAt(this.#read, round + 1),
        rentBefore + valueAt(this.#held, round + 1) + (cacheMissRate(rates) - rates.read) * survivors,
      );
      this.#read[round] = this.#leastCut(this.#read, { round, keep });
    }
  }

  /** H'(round, b), as of `advanceCall`. */
  throughCall(round: number): number {
    return valueAt(this.#read, round);
  }

  /**
   * The least of `keep` and of the cuts at a round's results before the boundary; `after` says what the rounds behind
   * it cost from a cut on.
   *
   * It stops early. A plan that cuts i at t and forgets i is a plan for i+1 on, with a cut no dearer; so it costs at least
   * i's rent plus the least for i+1 on, and the rent only grows. This is ski rental's bound, t − s_i < ((w − r)/r)·S/X.
   */
  #leastCut(after: Float64Array, { round, keep }: { readonly round: number; readonly keep: number }): number {
    const { staleAfterRounds } = this.#sums;
    const { freshFrom, roundFrom, width, heldByPlace } = this.#stretch;
    const standingCost = this.#standingCost;
    const rent = this.#rent(round);
    const inFront = valueAt(this.#otherCost, round + 1);
    const next = valueAt(after, round + 1);
    const nextPlace = (round + 1 - freshFrom) * width - roundFrom;
    let least = keep;
    let rentSoFar = 0;
    for (let at = round + staleAfterRounds; at < this.#boundary && rentSoFar + next < least; at++) {
      const held = rentSoFar + valueAt(heldByPlace, nextPlace + at);
      const cost = held + valueAt(standingCost, at) - inFront + valueAt(after, at - staleAfterRounds + 1);
      if (cost < least) least = cost;
      rentSoFar += rent;
    }
    return least;
  }

  #rent(round: number): number {
    return this.#sums.rates.read * valueAt(this.#sums.resultTokens, round);
  }

  /** Requests before the boundary in which a round's results were stale: b − s_i. */
  #staleRounds(round: number): number {
    return this.#boundary - round - this.#sums.staleAfterRounds;
  }
}

/** The rounds from one free moment to the next. */
interface WarmStretch {
  readonly roundFrom: number;
  /** The first round whose results were not stale at the free moment, so are still there. */
  readonly freshFrom: number;
  readonly width: number;
  /** H(i, t) at (i − freshFrom)·width + t − roundFrom. */
  readonly heldByPlace: Float64Array;
}

function openStretch({ cold, rounds, freshRound, staleAfterRounds }: SessionSums, roundFrom: number): WarmStretch {
  const nextCold = cold.indexOf(1, roundFrom + 1);
  const roundEnd = nextCold === -1 ? rounds : nextCold;
  const freshFrom = valueAt(freshRound, roundFrom);
  const width = roundEnd - roundFrom + 1;
  // One row more than rounds that become stale: behind the last of them there is nothing to pay.
  const rows = Math.max(0, roundEnd - staleAfterRounds - freshFrom) + 1;
  return { roundFrom, freshFrom, width, heldByPlace: new Float64Array(rows * width) };
}

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
    resultTokens,
    otherTokensBefore: totalsBefore(Float64Array.from(rounds, ({ otherTokens }) => otherTokens)),
    resultTokensBefore: totalsBefore(resultTokens),
    freshRound: Int32Array.from({ length: rounds.length + 1 }, (_, round) => Math.max(0, round - staleAfterRounds + 1)),
  };
}

/** What a token costs that a compaction's call does not find in the cache: a call that leaves nothing there pays for no writing. */
export const cacheMissRate = ({ write }: CostSession["rates"]): number => Math.min(1, write);

export const newTokens = ({ otherTokensBefore, resultTokens }: SessionSums, round: number): number =>
  valueAt(otherTokensBefore, round + 1) - valueAt(otherTokensBefore, round) + valueAt(resultTokens, round);

/**
 * What a request holds of rounds `from` and later that came before it, once everything stale is cleared: others, and
 * results that are not stale.
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
