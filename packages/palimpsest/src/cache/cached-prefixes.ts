import type { Millis } from "../schema/brand.ts";
import type { Lifetime } from "./lifetime.ts";
import { millisByLifetime } from "./lifetime.ts";
import { writtenPlacesMax } from "./limits.ts";

/** How much of what was shown a request wrote at one of its marks, in the inventory's count. */
interface WrittenPrefix {
  readonly upToTokens: number;
  readonly lifetime: Lifetime;
}

interface LivePrefix extends WrittenPrefix {
  readonly until: number;
}

/**
 * What the provider's cache still holds of the conversation, by our own reckoning: which prefixes were written, and until
 * when each lives. A prefix is refreshed when a request is marked at it or up to the look-back behind it; one that is
 * passed over expires although a longer one is read.
 */
export class CachedPrefixes {
  #kept: readonly LivePrefix[] = [];
  #liveUntil = -Infinity;

  /** A request was sent that reads the longest prefix: what it is marked at behind that is written, what lies before is not. */
  sent({ at, written, refreshed }: SentBreakpoints): void {
    const live = this.#kept.filter(({ until }) => until > at);
    const again = new Set(refreshed.map((upToTokens) => longestWithin(live, upToTokens)));
    const kept = live.map((one) => (again.has(one) ? renewPrefix(one, at) : one));
    const longest = kept.at(-1)?.upToTokens ?? -1;
    const fresh = written.filter(({ upToTokens }) => upToTokens > longest).map((one) => renewPrefix(one, at));
    this.#kept = [...kept, ...fresh]
      .toSorted((one, other) => one.upToTokens - other.upToTokens)
      .slice(-writtenPlacesMax);
    this.#liveUntil = this.#kept.reduce((latest, { until }) => Math.max(latest, until), -Infinity);
  }

  /** An edit changed what stands behind so many tokens: nothing that was written beyond can be read again. */
  cut(tokens: number): void {
    this.#kept = this.#kept.filter(({ upToTokens }) => upToTokens <= tokens);
  }

  /** Nothing lives of what requests have written: the next one writes all of it again, whatever is changed in it. */
  isCold(at: Millis): boolean {
    return this.#liveUntil <= at;
  }

  /** The longest prefix that lives and does not reach beyond so many tokens; 0 where none does. */
  upTo(tokens: number, at: Millis): number {
    for (let place = this.#kept.length - 1; place >= 0; place -= 1) {
      const one = this.#kept[place];
      if (one !== undefined && one.upToTokens <= tokens && one.until > at) return one.upToTokens;
    }
    return 0;
  }

  /** Where the prefixes that live end, the shortest first. */
  liveEnds(at: Millis): number[] {
    return this.#kept.flatMap(({ upToTokens, until }) => (until > at ? [upToTokens] : []));
  }

  /** How far the prefixes reach that outlive the short lifetime. */
  hourUpTo(at: Millis): number {
    const shortly = at + millisByLifetime["5m"];
    return this.#kept.findLast(({ lifetime, until }) => lifetime === "1h" && until > shortly)?.upToTokens ?? 0;
  }
}

interface SentBreakpoints {
  readonly at: Millis;
  /** Its marks; those within what was read write nothing. */
  readonly written: readonly WrittenPrefix[];
  /** Marks within what was read: how much of what was shown stands before each. The longest prefix up to each lives on. */
  readonly refreshed: readonly number[];
}

const renewPrefix = (one: WrittenPrefix, at: Millis): LivePrefix => ({
  ...one,
  until: at + millisByLifetime[one.lifetime],
});

const longestWithin = (kept: readonly LivePrefix[], tokens: number): LivePrefix | undefined =>
  kept.findLast(({ upToTokens }) => upToTokens <= tokens);
