import type { Millis } from "../schema/brand.ts";
import type { CachedPrefixes } from "./cached-prefixes.ts";
import { gapsPrior } from "./limits.ts";
import { type Lifetime, millisByLifetime } from "./lifetime.ts";
import type { CacheRates } from "./rates.ts";

/** How often a request comes so late that only the long lifetime would have lasted. Starts from what recorded sessions have. */
export class GapChance {
  #rounds: number = gapsPrior.rounds;
  #gaps: number = gapsPrior.gaps;

  get value(): number {
    return this.#gaps / this.#rounds;
  }

  /** Between the starts of two requests. */
  observe(gapMillis: number): void {
    this.#rounds += 1;
    if (gapMillis >= millisByLifetime["5m"] && gapMillis < millisByLifetime["1h"]) this.#gaps += 1;
  }
}

export interface LifetimeInput {
  /** That the next request comes between five minutes and an hour from now. */
  readonly gapChance: number;
  readonly rates: Readonly<Record<Lifetime, CacheRates>>;
  /** What this request writes. */
  readonly newTokens: number;
  /** Of the request, what no prefix of the long lifetime holds. */
  readonly uncoveredTokens: number;
}

/**
 * An hour for what this request writes, if that is cheaper than what is likely to be written again without it. A written
 * prefix holds everything before it, so one small request marked for an hour covers a whole conversation.
 */
export function chooseLifetime({ gapChance, rates, newTokens, uncoveredTokens }: LifetimeInput): Lifetime {
  const dearer = (rates["1h"].write - rates["5m"].write) * newTokens;
  const saved = gapChance * (rates["5m"].write - rates["5m"].read) * uncoveredTokens;
  return saved > dearer ? "1h" : "5m";
}

export interface LifetimeMoment extends Pick<LifetimeInput, "gapChance" | "rates"> {
  readonly at: Millis;
  readonly prefixes: CachedPrefixes;
  /** Of everything the request shows, in the prefixes' count. */
  readonly shownTokens: number;
  readonly fixedTokens: number;
}

/** For a request that is about to be sent. */
export function lifetimeNow({ gapChance, rates, at, prefixes, shownTokens, fixedTokens }: LifetimeMoment): Lifetime {
  const cached = prefixes.upTo(shownTokens, at);
  const covered = Math.min(prefixes.hourUpTo(at), shownTokens);
  return chooseLifetime({
    gapChance,
    rates,
    newTokens: shownTokens - cached + (cached === 0 ? fixedTokens : 0),
    uncoveredTokens: shownTokens - covered + (covered === 0 ? fixedTokens : 0),
  });
}
