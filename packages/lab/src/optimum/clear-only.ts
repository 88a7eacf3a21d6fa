import type { CostSession } from "../cost-session.ts";
import { newTokens, type SessionSums, sessionSums, standingTokens, valueAt } from "./session-sums.ts";
import { StaleRent } from "./stale-rent.ts";

/**
 * The least input cost of a session for a policy that knows the future and may only clear stale results, whatever the
 * window: what requests cost without anything stale in them, plus the least of rents and cuts from one free moment to
 * the next (`StaleRent` has the algebra). Exact. It bounds policies that leave a result alone for `staleAfterRounds`
 * rounds; one that clears sooner can undercut it.
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

/** What a request costs that holds nothing stale and breaks no prefix. */
function freshCost(sums: SessionSums, round: number): number {
  const { headerTokens, rates, cold } = sums;
  const before = headerTokens + standingTokens(sums, { from: 0, round });
  return (valueAt(cold, round) === 1 ? rates.write : rates.read) * before + rates.write * newTokens(sums, round);
}
