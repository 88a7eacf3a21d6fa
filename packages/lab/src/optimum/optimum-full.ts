import type { CostSession } from "../cost-session.ts";
import {
  newTokens,
  type SessionSums,
  sessionSums,
  remainingTokens,
  cacheMissRate,
  valueAt,
  StaleRent,
} from "./stale-rent.ts";

/**
 * The minimum cost of a session (input, and the output of compactions) for a policy that knows the future, clears stale
 * results and may compact before any request.
 *
 * A compaction before request t replaces everything but the header, including what is new in round t. (Only a message that
 * waits for its answer would stay; it is small and ignored.) The compaction's call contains the current context, less what
 * is cleared just before it. Cached tokens cost r, the rest u = min(1, w), because a call that writes nothing to the cache
 * does not pay for writing. If round t is cold, the call either misses everything (u·C) and request t writes the header, or
 * it writes everything (w·C) and request t reads the header; the cheaper one counts. What other sessions have cached of the
 * header costs r in either.
 *
 * Segments between compactions share only the header, and `StaleRent` applies to each of them, because S(t, i) depends only
 * on what is after i. So with D(t) the minimum up to and including the call of a compaction before t, and D(0) = 0,
 *
 *   D(t)    = min over c < t of D(c) + requests(c … t−1) + call(c, t) + output
 *   optimum = min over c of     D(c) + requests(c … T−1)
 *
 * in O(T²) plus the rents. Exact without a window. With a window it is a lower bound: it excludes segments in which a
 * request would not fit even with everything stale cleared, but not those that clear later than the window allows. If a
 * round does not fit even right after a compaction, no plan fits, and the limit is ignored.
 */
export function optimumFull(session: CostSession): number {
  const sums = sessionSums(session);
  if (sums.rounds === 0) return 0;
  const rent = new StaleRent(sums);
  const costByStart = new Float64Array(sums.rounds);
  const aliveByStart = new Int32Array(sums.rounds);
  const segments: Segments = { session, sums, rent, costByStart, aliveByStart };
  costByStart[0] = firstRequestCost(segments, 0);

  for (let round = 1; round < sums.rounds; round++) {
    rent.advance();
    const compacted = leastCompacted(segments, round);
    if (valueAt(sums.cold, round) === 1) payRents(segments, round);
    extendSegments(segments, round);
    costByStart[round] = compacted + firstRequestCost(segments, round);
    aliveByStart[round] = round + 1;
  }

  rent.advance();
  payRents(segments, sums.rounds);
  return costByStart.reduce((least, cost) => Math.min(least, cost));
}

/** For each round in which a segment may have begun, the cheapest way to the current round. */
interface Segments {
  readonly session: CostSession;
  readonly sums: SessionSums;
  readonly rent: StaleRent;
  /** Without the rents since the last free moment. Infinite if a request did not fit. */
  readonly costByStart: Float64Array;
  /** The first round of the segment whose results were still there after that free moment. */
  readonly aliveByStart: Int32Array;
}

/** D(round). */
function leastCompacted(segments: Segments, round: number): number {
  const { sums, rent, costByStart, aliveByStart } = segments;
  const { headerTokens, rates, compaction } = segments.session;
  const isCold = valueAt(sums.cold, round) === 1;
  const missRate = cacheMissRate(rates);
  const added = newTokens(sums, round);
  if (!isCold) rent.advanceCall();
  let least = Number.POSITIVE_INFINITY;
  for (let start = 0; start < round; start++) {
    const alive = valueAt(aliveByStart, start);
    const tokens = tokensBefore(segments, { start, round });
    const call = isCold
      ? rent.until(alive) +
        Math.min(
          missRate * (tokens + added) - (missRate - rates.read) * valueAt(sums.sharedTokens, round),
          rates.write * (tokens + added) - (rates.write - rates.read) * headerTokens,
        )
      : rent.throughCall(alive) + rates.read * tokens + missRate * added;
    least = Math.min(least, valueAt(costByStart, start) + call);
  }
  return least + rates.output * compaction.outputTokens;
}

/** At a free moment everything stale is cleared, and the rents up to then are added to the costs. */
function payRents({ sums, rent, costByStart, aliveByStart }: Segments, freeMoment: number): void {
  for (let start = 0; start < freeMoment; start++) {
    costByStart[start] = valueAt(costByStart, start) + rent.until(valueAt(aliveByStart, start));
    aliveByStart[start] = Math.max(firstRound(start), valueAt(sums.freshRound, freeMoment));
  }
}

/** Adds the request of a round to every segment that began before it, and excludes those in which it does not fit. */
function extendSegments(segments: Segments, round: number): void {
  const { session, sums, costByStart } = segments;
  const { read, write } = session.rates;
  const readRate = valueAt(sums.cold, round) === 1 ? write : read;
  const added = newTokens(sums, round);
  const tokensMax = requestTokensMax(session);
  const discount = sharedDiscount(sums, round);
  for (let start = 0; start < round; start++) {
    const tokens = tokensBefore(segments, { start, round });
    const cost = tokens + added > tokensMax ? Number.POSITIVE_INFINITY : readRate * tokens + write * added - discount;
    costByStart[start] = valueAt(costByStart, start) + cost;
  }
}

/** The cost of a segment's first request: only the header is cached, and only if the round is warm. */
function firstRequestCost({ session, sums }: Segments, start: number): number {
  const { headerTokens, rates } = session;
  const headerRate = valueAt(sums.cold, start) === 1 ? rates.write : rates.read;
  return (
    headerRate * headerTokens +
    rates.write * (start === 0 ? newTokens(sums, start) : leavesTokens(session, start)) -
    sharedDiscount(sums, start)
  );
}

/** What a cold round saves because a part of the header is read and not written. */
const sharedDiscount = ({ rates, sharedTokens }: SessionSums, round: number): number =>
  (rates.write - rates.read) * valueAt(sharedTokens, round);

/** The tokens of earlier rounds in a request, after everything stale is cleared. */
const tokensBefore = ({ session, sums }: Segments, { start, round }: { start: number; round: number }): number =>
  session.headerTokens + leavesTokens(session, start) + remainingTokens(sums, { from: firstRound(start), round });

/** The first round whose text and results are in a segment. */
const firstRound = (start: number): number => (start === 0 ? 0 : start + 1);

const leavesTokens = ({ compaction }: CostSession, start: number): number =>
  start === 0 ? 0 : compaction.leavesTokens;

/** The window, or no limit if not even a compaction makes enough room. */
function requestTokensMax({ headerTokens, compaction, windowTokens }: CostSession): number {
  const canFit = windowTokens !== undefined && headerTokens + compaction.leavesTokens <= windowTokens;
  return canFit ? windowTokens : Number.POSITIVE_INFINITY;
}

/**
 * The minimum input cost of a session for a policy that knows the future and may only clear stale results, without a
 * window: the cost of requests with nothing stale in them, plus the minimum of rents and cuts from one free moment to the
 * next (see `StaleRent`). Exact. It is a bound for policies that keep a result for `staleAfterRounds` rounds; a policy that
 * clears sooner can cost less.
 */
export function optimumClearOnly(session: CostSession): number {
  const sums = sessionSums(session);
  const rent = new StaleRent(sums);
  let cost = 0;
  let freeMoment = 0;
  for (let boundary = 1; boundary <= sums.rounds; boundary++) {
    cost += freshCost(sums, boundary - 1);
    rent.advance();
    if (boundary < sums.rounds && valueAt(sums.cold, boundary) === 0) continue;
    cost += rent.until(valueAt(sums.freshRound, freeMoment));
    freeMoment = boundary;
  }
  return cost;
}

/** The cost of a request that contains nothing stale and breaks no prefix. */
function freshCost(sums: SessionSums, round: number): number {
  const { headerTokens, rates, cold } = sums;
  const before = headerTokens + remainingTokens(sums, { from: 0, round });
  const readRate = valueAt(cold, round) === 1 ? rates.write : rates.read;
  return readRate * before + rates.write * newTokens(sums, round) - sharedDiscount(sums, round);
}
