import { type Lifetime, millisByLifetime } from "palimpsest/internal/cache/lifetime";
import { tokens } from "palimpsest/internal/schema/brand";
import { requestTokens, type Usage } from "palimpsest/internal/schema/usage";
import { uncutRatioMin } from "../limits.ts";
import type { CacheEvent, RecordedCache } from "./recording.ts";
import type { BareRound } from "./split-rounds.ts";

export interface CacheHistory {
  readonly cache: RecordedCache;
  /** In the order of the rounds. */
  readonly events: readonly (readonly CacheEvent[])[];
}

/** Undefined if the usage reports no writes: then it says nothing about a cache with these prices. */
export function readCacheHistory(rounds: readonly BareRound[], headerTokens: number): CacheHistory | undefined {
  const lifetime = writtenLifetime(rounds.flatMap(({ usage }) => usage ?? []));
  if (lifetime === undefined) return undefined;
  const starts = rounds.map((_, index) => startedAnew(rounds, { index, lifetime }));
  const reads = starts.flatMap((usage) => (usage === undefined || usage.cacheRead === 0 ? [] : [usage.cacheRead]));
  const sharedTokens = tokens(reads.length === 0 ? 0 : Math.min(headerTokens, ...reads));
  const isShared = (usage: Usage | undefined): boolean => sharedTokens > 0 && (usage?.cacheRead ?? 0) >= sharedTokens;
  return {
    cache: { lifetime, sharedTokens, contexts: rounds.some((_, index) => isCut(rounds, index)) ? "cut" : "whole" },
    events: starts.map((usage) => (isShared(usage) ? ["header-shared"] : [])),
  };
}

/** The lifetime of most of what was written. */
function writtenLifetime(usages: readonly Usage[]): Lifetime | undefined {
  const written = usages.reduce((sum, { cacheWrite }) => sum + cacheWrite, 0);
  const forAnHour = usages.reduce((sum, { cacheWrite1h = 0 }) => sum + cacheWrite1h, 0);
  if (written === 0) return undefined;
  return 2 * forAnHour > written ? "1h" : "5m";
}

/** Whether the context lost something before this round's request. Not every client logs that. */
function isCut(rounds: readonly BareRound[], index: number): boolean {
  const round = rounds[index];
  const last = rounds[index - 1];
  if (round?.grew === "cut") return true;
  if (round?.usage === undefined || last?.usage === undefined) return false;
  return requestTokens(round.usage) < uncutRatioMin * requestTokens(last.usage);
}

interface RoundPlace {
  readonly index: number;
  readonly lifetime: Lifetime;
}

/** The usage of a request that found nothing of its own session in the cache: what it read, another session had written. */
function startedAnew(rounds: readonly BareRound[], { index, lifetime }: RoundPlace): Usage | undefined {
  const round = rounds[index];
  const last = rounds[index - 1];
  if (round === undefined || last === undefined) return round?.usage;
  const isExpired = round.at - last.at >= millisByLifetime[lifetime];
  // If it read most of the previous request, the provider kept it beyond its lifetime.
  const isKept = last.usage === undefined || 2 * (round.usage?.cacheRead ?? 0) > requestTokens(last.usage);
  return isExpired && !isKept ? round.usage : undefined;
}
