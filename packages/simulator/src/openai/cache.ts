import { type Millis, millis } from "palimpsest/internal/schema/brand";
import { hashOf } from "../hash.ts";
import {
  openAiCachedSlicesMax,
  openAiCachedTokensMin,
  openAiCachedTokensStep,
  openAiExplicitWritesMax,
  openAiMatchedBreakpointsMax,
  openAiWritesMax,
} from "../limits.ts";
import { Recent } from "palimpsest/internal/cache/recent";
import type { CacheWish, Ttl } from "./item.ts";
import type { Breakpoint, OpenAiPrompt, Slice } from "./prompt.ts";

export interface CacheLook {
  readonly prompt: OpenAiPrompt;
  /** Whose cache it is: the key's. */
  readonly workspace: string;
  readonly at: Millis;
  readonly caching: "automatic" | "breakpoints";
  readonly wish: CacheWish;
}

/** What the cache does for one request; `commit` makes it true. */
export interface CachePlan {
  readonly at: Millis;
  readonly cachedTokens: number;
  /** What is billed as written: nothing where writes are free. */
  readonly writtenTokens: Readonly<Record<Ttl, number>>;
  readonly lifetimes: readonly Lifetime[];
  readonly losses: number;
}

interface Lifetime {
  readonly key: string;
  readonly kind: "read" | "written";
  readonly millis: Millis;
}

interface Entry {
  readonly until: number;
  readonly millis: Millis;
}

/**
 * The provider's prompt cache. Before GPT-5.6 every prefix of a request is cached by itself, slice by slice, and read in
 * steps of 128 tokens; since then only up to breakpoints, to the exact token.
 *
 *     absent -- commit: written -->   live until the request's start + lifetime
 *     live   -- commit: read -->      live until the reading request's start + the entry's own lifetime
 *     live   -- its end, or lose() -> absent
 */
export class OpenAiCache {
  readonly #entries = new Recent<string, Entry>(openAiCachedSlicesMax);
  #losses = 0;

  /** Changes nothing. */
  look(look: CacheLook): CachePlan {
    const scope = scopeOf(look);
    return look.caching === "automatic" ? this.#automatic(look, scope) : this.#byBreakpoints(look, scope);
  }

  /** The reply begins: what was written can be read from now on. */
  commit({ lifetimes, at, losses }: CachePlan): void {
    for (const { key, kind, millis: lasts } of lifetimes)
      if (kind === "written" || losses === this.#losses) this.#put(key, { until: at + lasts, millis: lasts });
  }

  lose(): void {
    this.#entries.clear();
    this.#losses += 1;
  }

  #put(key: string, entry: Entry): void {
    const before = this.#entries.peek(key);
    this.#entries.set(key, before !== undefined && before.until > entry.until ? before : entry);
  }

  #isLive(key: string, at: Millis): boolean {
    const entry = this.#entries.peek(key);
    return entry !== undefined && entry.until > at;
  }

  #automatic({ prompt, at, wish }: CacheLook, scope: string): CachePlan {
    const cacheable = prompt.slices.filter(({ tokensUpTo }) => tokensUpTo >= openAiCachedTokensMin);
    const hit = cacheable.findLast((slice) => this.#isLive(keyOf(scope, slice), at));
    const steps = Math.floor((hit?.tokensUpTo ?? 0) / openAiCachedTokensStep);
    const lasts = wish.retention === "in_memory" ? inMemoryMillis : dayMillis;
    return {
      at,
      cachedTokens: steps * openAiCachedTokensStep,
      writtenTokens: { "30m": 0, "12h": 0 },
      // The longest first: of a conversation that is forgotten its beginning goes last.
      lifetimes: cacheable
        .toReversed()
        .map((slice) => ({ key: keyOf(scope, slice), kind: "written", millis: lasts }) as const),
      losses: this.#losses,
    };
  }

  #byBreakpoints({ prompt, at, wish }: CacheLook, scope: string): CachePlan {
    const { mode, ttl } = wish.options ?? { mode: "implicit", ttl: "30m" };
    const places = prompt.breakpoints.filter(
      ({ kind, tokensUpTo }) => tokensUpTo >= openAiCachedTokensMin && (mode === "implicit" || kind === "explicit"),
    );
    const live = places.slice(-openAiMatchedBreakpointsMax).filter((place) => this.#isLive(keyOf(scope, place), at));
    const cachedTokens = live.at(-1)?.tokensUpTo ?? 0;
    const writes = writesOf(places, mode).filter(({ tokensUpTo }) => tokensUpTo > cachedTokens);
    return {
      at,
      cachedTokens,
      writtenTokens: billed(writes, { from: cachedTokens, ttl }),
      lifetimes: [
        ...live.flatMap((place): Lifetime[] => {
          const key = keyOf(scope, place);
          const entry = this.#entries.peek(key);
          return entry === undefined ? [] : [{ key, kind: "read", millis: entry.millis }];
        }),
        ...writes.map((place): Lifetime => ({
          key: keyOf(scope, place),
          kind: "written",
          millis: ttlMillis[place.ttl ?? ttl],
        })),
      ],
      losses: this.#losses,
    };
  }
}

/** Every request of its own scope: nothing is shared over any of these. */
function scopeOf({ prompt, workspace }: CacheLook): string {
  const { model, serviceTier, cacheKey, effort, verbosity, tools, format } = prompt.salts;
  return hashOf(JSON.stringify([workspace, model, serviceTier, cacheKey, effort, verbosity, tools, format]));
}

const keyOf = (scope: string, { chain }: Slice): string => `${scope}${chain}`;

/** The latest ones; where one is implicit, it stands at the end of the request. */
function writesOf(places: readonly Breakpoint[], mode: "implicit" | "explicit"): readonly Breakpoint[] {
  const explicit = places.filter(({ kind }) => kind === "explicit");
  if (mode === "explicit") return explicit.slice(-openAiWritesMax);
  return [...explicit.slice(-openAiExplicitWritesMax), ...places.filter(({ kind }) => kind === "end")];
}

/** Each stretch at the lifetime of the breakpoint that ends it. */
function billed(
  writes: readonly Breakpoint[],
  { from, ttl }: { readonly from: number; readonly ttl: Ttl },
): Readonly<Record<Ttl, number>> {
  const tokens: Record<Ttl, number> = { "30m": 0, "12h": 0 };
  let start = from;
  for (const place of writes) {
    tokens[place.ttl ?? ttl] += place.tokensUpTo - start;
    start = place.tokensUpTo;
  }
  return tokens;
}

/** The documented least; what the provider keeps longer than that nobody can count on. */
const ttlMillis: Readonly<Record<Ttl, Millis>> = { "30m": millis(30 * 60_000), "12h": millis(12 * 3_600_000) };
const dayMillis = millis(24 * 3_600_000);
/** Ours: how long an entry stays in memory is not in the reference. */
const inMemoryMillis = millis(10 * 60_000);
