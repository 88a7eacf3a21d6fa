import { type Millis, millis } from "palimpsest/internal/schema/brand";
import { shortHash } from "../prompt/canonical-block.ts";
import {
  openAiCachedSlicesMax,
  openAiCachedTokensMin,
  openAiCachedTokensStep,
  openAiExplicitWritesMax,
  openAiMatchedBreakpointsMax,
  openAiWritesMax,
  storedResponsesMax,
} from "../limits.ts";
import { LruMap } from "palimpsest/internal/cache/lru-map";
import type { CacheOptions, Ttl } from "./open-ai-request.ts";
import type { Breakpoint, OpenAiPrompt, Slice, Salts } from "./open-ai-prompt.ts";
import type { UsageSplit } from "palimpsest/internal/cache/usage-split";
import type { Fault } from "../fault/fault.ts";
import { type Price, priceIterations } from "../reply/iteration.ts";
import type { OpenAiModel } from "./open-ai-models.ts";

interface CacheLookup {
  readonly prompt: OpenAiPrompt;
  /** Owner of the cache, derived from the API key. */
  readonly workspace: string;
  readonly at: Millis;
  readonly caching: "automatic" | "breakpoints";
  readonly request: CacheOptions;
}

/** What the cache does for one request. `commit` puts it into effect. */
export interface CachePlan {
  readonly at: Millis;
  readonly cachedTokens: number;
  /** Tokens billed as written: none if writes are free. */
  readonly writtenTokens: Readonly<Record<Ttl, number>>;
  readonly lifetimes: readonly EntryLifetime[];
  readonly losses: number;
}

interface EntryLifetime {
  readonly key: string;
  readonly kind: "read" | "written";
  readonly millis: Millis;
}

interface CacheEntry {
  readonly until: number;
  readonly millis: Millis;
}

/**
 * The provider's prompt cache. Before GPT-5.6 every prefix of a request is cached automatically, slice by slice, and read in
 * steps of 128 tokens; since then only up to breakpoints, to the exact token.
 *
 *     absent -- commit: written -->   live until the request's start + lifetime
 *     live   -- commit: read -->      live until the reading request's start + the entry's own lifetime
 *     live   -- its end, or lose() -> absent
 */
export class OpenAiCache {
  readonly #entries = new LruMap<string, CacheEntry>(openAiCachedSlicesMax);
  #losses = 0;

  /** Does not change the cache. */
  look(look: CacheLookup): CachePlan {
    const scope = cacheScope(look);
    return look.caching === "automatic" ? this.#automatic(look, scope) : this.#byBreakpoints(look, scope);
  }

  /** Called when the reply begins: what was written can be read from now on. */
  commit({ lifetimes, at, losses }: CachePlan): void {
    for (const { key, kind, millis: lasts } of lifetimes)
      if (kind === "written" || losses === this.#losses) this.#put(key, { until: at + lasts, millis: lasts });
  }

  lose(): void {
    this.#entries.clear();
    this.#losses += 1;
  }

  #put(key: string, entry: CacheEntry): void {
    const before = this.#entries.peek(key);
    this.#entries.set(key, before !== undefined && before.until > entry.until ? before : entry);
  }

  #isLive(key: string, at: Millis): boolean {
    const entry = this.#entries.peek(key);
    return entry !== undefined && entry.until > at;
  }

  #automatic({ prompt, at, request }: CacheLookup, scope: string): CachePlan {
    const cacheable = prompt.slices.filter(({ tokensUpTo }) => tokensUpTo >= openAiCachedTokensMin);
    const hit = cacheable.findLast((slice) => this.#isLive(sliceKey(scope, slice), at));
    const steps = Math.floor((hit?.tokensUpTo ?? 0) / openAiCachedTokensStep);
    const lasts = request.retention === "in_memory" ? inMemoryMillis : dayMillis;
    return {
      at,
      cachedTokens: steps * openAiCachedTokensStep,
      writtenTokens: { "30m": 0, "12h": 0 },
      // The longest first, so that the beginning of a conversation is forgotten last.
      lifetimes: cacheable
        .toReversed()
        .map((slice) => ({ key: sliceKey(scope, slice), kind: "written", millis: lasts }) as const),
      losses: this.#losses,
    };
  }

  #byBreakpoints({ prompt, at, request }: CacheLookup, scope: string): CachePlan {
    const { mode, ttl } = request.options ?? { mode: "implicit", ttl: "30m" };
    const places = prompt.breakpoints.filter(
      ({ kind, tokensUpTo }) => tokensUpTo >= openAiCachedTokensMin && (mode === "implicit" || kind === "explicit"),
    );
    const live = places.slice(-openAiMatchedBreakpointsMax).filter((place) => this.#isLive(sliceKey(scope, place), at));
    const cachedTokens = live.at(-1)?.tokensUpTo ?? 0;
    const writes = breakpointsToWrite(places, mode).filter(({ tokensUpTo }) => tokensUpTo > cachedTokens);
    return {
      at,
      cachedTokens,
      writtenTokens: billWrites(writes, { from: cachedTokens, ttl }),
      lifetimes: [
        ...live.flatMap((place): EntryLifetime[] => {
          const key = sliceKey(scope, place);
          const entry = this.#entries.peek(key);
          return entry === undefined ? [] : [{ key, kind: "read", millis: entry.millis }];
        }),
        ...writes.map((place): EntryLifetime => ({
          key: sliceKey(scope, place),
          kind: "written",
          millis: ttlMillis[place.ttl ?? ttl],
        })),
      ],
      losses: this.#losses,
    };
  }
}

/** Requests that differ in any of these share nothing. */
function cacheScope({ prompt, workspace }: CacheLookup): string {
  const { model, serviceTier, cacheKey, effort, verbosity, tools, format } = prompt.salts;
  return shortHash(JSON.stringify([workspace, model, serviceTier, cacheKey, effort, verbosity, tools, format]));
}

const sliceKey = (scope: string, { chain }: Slice): string => `${scope}${chain}`;

/** The latest ones; an implicit breakpoint stands at the end of the request. */
function breakpointsToWrite(places: readonly Breakpoint[], mode: "implicit" | "explicit"): readonly Breakpoint[] {
  const explicit = places.filter(({ kind }) => kind === "explicit");
  if (mode === "explicit") return explicit.slice(-openAiWritesMax);
  return [...explicit.slice(-openAiExplicitWritesMax), ...places.filter(({ kind }) => kind === "end")];
}

/** Bills each stretch at the lifetime of the breakpoint that ends it. */
function billWrites(
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

/** The documented minimum. The provider may keep entries longer, but no client can rely on that. */
const ttlMillis: Readonly<Record<Ttl, Millis>> = { "30m": millis(30 * 60_000), "12h": millis(12 * 3_600_000) };
const dayMillis = millis(24 * 3_600_000);
/** Our own number: the reference does not say how long an entry stays in memory. */
const inMemoryMillis = millis(10 * 60_000);

export type CacheDiagnosis =
  | { readonly kind: "cache_hit" | "comparison_response_not_found" | "unavailable" }
  | {
      readonly kind: "cache_miss";
      readonly reason: MissReason;
      /** Tokens of the earlier prompt that could have been read and were not. */
      readonly missedTokens: number;
      readonly reusableTokens: number;
    };

type MissReason =
  | "model_changed"
  | "service_tier_changed"
  | "prompt_cache_key_changed"
  | "tools_changed"
  | "text_format_changed"
  | "reasoning_effort_changed"
  | "verbosity_changed"
  | "context_compacted"
  | "input_changed";

/** In the order in which they are reported: the first that differs. */
const reasonBySalt: readonly (readonly [keyof Salts, MissReason])[] = [
  ["model", "model_changed"],
  ["serviceTier", "service_tier_changed"],
  ["cacheKey", "prompt_cache_key_changed"],
  ["tools", "tools_changed"],
  ["format", "text_format_changed"],
  ["effort", "reasoning_effort_changed"],
  ["verbosity", "verbosity_changed"],
];

type PromptFingerprint = Pick<OpenAiPrompt, "salts" | "ends" | "tokens"> & { readonly workspace: string };

/** Prompts of earlier responses, to explain why a later one could not read what they wrote. */
export class OpenAiFingerprints {
  readonly #printById = new LruMap<string, PromptFingerprint>(storedResponsesMax);

  remember(id: string, { prompt, workspace }: ComparedPrompt): void {
    const { salts, ends, tokens } = prompt;
    this.#printById.set(id, { salts, ends, tokens, workspace });
  }

  compare(
    id: string,
    { prompt, workspace, cachedTokens }: ComparedPrompt & { readonly cachedTokens: number },
  ): CacheDiagnosis {
    const earlier = this.#printById.get(id);
    if (earlier === undefined || earlier.workspace !== workspace) return { kind: "comparison_response_not_found" };
    const miss = (reason: MissReason, sharedTokens: number): CacheDiagnosis => ({
      kind: "cache_miss",
      reason,
      missedTokens: Math.max(0, earlier.tokens - sharedTokens),
      reusableTokens: earlier.tokens,
    });
    const salt = reasonBySalt.find(([name]) => earlier.salts[name] !== prompt.salts[name]);
    if (salt !== undefined) return miss(salt[1], 0);
    const shared = countSharedEnds(earlier, prompt);
    if (shared < earlier.ends.length) {
      const isCompacted = earlier.salts.compaction !== prompt.salts.compaction;
      const tokens = earlier.ends[shared - 1]?.tokensUpTo ?? 0;
      return miss(isCompacted ? "context_compacted" : "input_changed", tokens);
    }
    // Nothing differs, and yet there was nothing to read: it was never long enough, or has expired.
    return { kind: cachedTokens > 0 ? "cache_hit" : "unavailable" };
  }
}

interface ComparedPrompt {
  readonly prompt: OpenAiPrompt;
  readonly workspace: string;
}

/** A chain covers everything before it, so two lists of chains agree up to one place and nowhere after it. */
function countSharedEnds(earlier: PromptFingerprint, prompt: OpenAiPrompt): number {
  let shared = Math.min(earlier.ends.length, prompt.ends.length);
  while (shared > 0 && earlier.ends[shared - 1]?.chain !== prompt.ends[shared - 1]?.chain) shared -= 1;
  return shared;
}

/** One run of the model: a reply has one, or two if the conversation was compacted first. */
export interface ModelRun {
  readonly promptTokens: number;
  readonly plan: CachePlan;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

export interface Usage {
  readonly inputTokens: number;
  readonly cachedTokens: number;
  /** Absent if writes are free and not reported. */
  readonly written?: Readonly<Record<Ttl, number>>;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

export function sumUsage({
  runs,
  model,
  fault,
}: {
  readonly runs: readonly ModelRun[];
  readonly model: OpenAiModel;
  readonly fault: Fault | undefined;
}): Usage {
  const factor = fault?.kind === "wrong-usage" ? fault.factor : 1;
  const report = (count: (run: ModelRun) => number): number => Math.round(sum(runs, count) * factor);
  return {
    inputTokens: report(({ promptTokens }) => promptTokens),
    cachedTokens: report(({ plan }) => plan.cachedTokens),
    ...(model.caching === "automatic"
      ? {}
      : {
          written: {
            "30m": report(({ plan }) => plan.writtenTokens["30m"]),
            "12h": report(({ plan }) => plan.writtenTokens["12h"]),
          },
        }),
    outputTokens: report(({ outputTokens }) => outputTokens),
    reasoningTokens: report(({ reasoningTokens }) => reasoningTokens),
  };
}

/** Undefined if the price of the model or of the requested tier is unknown. */
export function priceRuns(
  runs: readonly ModelRun[],
  { model, tier }: { readonly model: OpenAiModel; readonly tier: string },
): Price | undefined {
  const { priced } = model;
  if (priced === undefined || tier !== "default") return undefined;
  return priceIterations(
    priced,
    runs.map((run) => ({ usage: toUsageSplit(run), outputTokens: run.outputTokens })),
  );
}

/** In the Messages API's fields: 30 minutes are counted as five minutes there, 12 hours as one hour. */
export const toUsageSplit = ({ promptTokens, plan }: ModelRun): UsageSplit => {
  const { "30m": short, "12h": long } = plan.writtenTokens;
  return {
    inputTokens: promptTokens - plan.cachedTokens - short - long,
    cacheReadTokens: plan.cachedTokens,
    cacheWrite5mTokens: short,
    cacheWrite1hTokens: long,
  };
};

const sum = (runs: readonly ModelRun[], count: (run: ModelRun) => number): number =>
  runs.reduce((total, run) => total + count(run), 0);
