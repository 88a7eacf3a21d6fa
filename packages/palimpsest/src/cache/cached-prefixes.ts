import type { Millis } from "../schema/brand.ts";
import type { Lifetime } from "./lifetime.ts";
import { millisByLifetime } from "./lifetime.ts";
import { writtenPlacesMax } from "./limits.ts";

/** How much of what was shown a request wrote at one of its marks, by the inventory's count. */
interface WrittenPrefix {
  readonly upToTokens: number;
  readonly lifetime: Lifetime;
}

interface LivePrefix extends WrittenPrefix {
  readonly until: number;
}

export type CacheState = "live" | "expired" | "unknown";

/**
 * An estimate of what the provider's cache still holds of the conversation: which prefixes were written, and until when
 * each lives. A prefix is refreshed if a request is marked at it or within the look-back behind it. A prefix that is
 * passed over expires, even if a longer one is read.
 */
export class CachedPrefixes {
  #kept: readonly LivePrefix[] = [];
  #liveUntil = -Infinity;

  /**
   * Call it when a request was sent. It reads the longest prefix; its marks behind that are written, those before are
   * not.
   */
  sent({ at, written, refreshed }: SentBreakpoints): void {
    const live = this.#kept.filter(({ until }) => until > at);
    const renewed = new Set(refreshed.map((upToTokens) => longestWithin(live, upToTokens)));
    const kept = live.map((prefix) => (renewed.has(prefix) ? renewPrefix(prefix, at) : prefix));
    const longest = kept.at(-1)?.upToTokens ?? -1;
    const fresh = written.filter(({ upToTokens }) => upToTokens > longest).map((prefix) => renewPrefix(prefix, at));
    this.#kept = [...kept, ...fresh]
      .toSorted((left, right) => left.upToTokens - right.upToTokens)
      .slice(-writtenPlacesMax);
    this.#liveUntil = this.#kept.reduce((latest, { until }) => Math.max(latest, until), -Infinity);
  }

  /** Call it when an edit changed what stands behind so many tokens: no longer prefix can be read again. */
  cut(tokens: number): void {
    this.#kept = this.#kept.filter(({ upToTokens }) => upToTokens <= tokens);
  }

  /**
   * Whether everything written has expired. The next request then writes all of it again, whatever is changed in it.
   */
  isCold(at: Millis): boolean {
    return this.#liveUntil <= at;
  }

  /** Why what is not in a live prefix is not: `unknown` if no request was seen, as behind an edit that was made elsewhere. */
  state(at: Millis): CacheState {
    if (this.#liveUntil === -Infinity) return "unknown";
    return this.isCold(at) ? "expired" : "live";
  }

  /** The longest live prefix of at most so many tokens; 0 if there is none. */
  upTo(tokens: number, at: Millis): number {
    for (let place = this.#kept.length - 1; place >= 0; place -= 1) {
      const prefix = this.#kept[place];
      if (prefix !== undefined && prefix.upToTokens <= tokens && prefix.until > at) return prefix.upToTokens;
    }
    return 0;
  }

  /** The ends of the live prefixes, the shortest first. */
  liveEnds(at: Millis): number[] {
    return this.#kept.flatMap(({ upToTokens, until }) => (until > at ? [upToTokens] : []));
  }

  /** The end of the longest prefix that outlives the short lifetime. */
  hourUpTo(at: Millis): number {
    const shortly = at + millisByLifetime["5m"];
    return this.#kept.findLast(({ lifetime, until }) => lifetime === "1h" && until > shortly)?.upToTokens ?? 0;
  }
}

interface SentBreakpoints {
  readonly at: Millis;
  /** The request's marks. Those within what was read write nothing. */
  readonly written: readonly WrittenPrefix[];
  /** Marks within what was read, as the tokens shown before each. The longest prefix up to each lives on. */
  readonly refreshed: readonly number[];
}

const renewPrefix = (prefix: WrittenPrefix, at: Millis): LivePrefix => ({
  ...prefix,
  until: at + millisByLifetime[prefix.lifetime],
});

const longestWithin = (kept: readonly LivePrefix[], tokens: number): LivePrefix | undefined =>
  kept.findLast(({ upToTokens }) => upToTokens <= tokens);
