import { type Lifetime, millisByLifetime } from "palimpsest/internal/cache/lifetime";
import { lookBackBlocks } from "palimpsest/internal/cache/limits";
import { tokens } from "palimpsest/internal/schema/brand";
import { requestTokens, type Usage } from "palimpsest/internal/schema/usage";
import { uncutRatioMin } from "../limits.ts";
import type { CacheEvent, RecordedCache } from "./recording.ts";
import { requestBlocks } from "./scale.ts";
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
  const starts = rounds.map((_, index) => findStart(rounds, { index, lifetime }));
  const reads = starts.flatMap(({ kind, read }) => (kind === "cold" && read > 0 ? [read] : []));
  return {
    cache: {
      lifetime,
      sharedTokens: tokens(reads.length === 0 ? 0 : Math.min(headerTokens, ...reads)),
      contexts: rounds.some((_, index) => isCut(rounds, index)) ? "cut" : "whole",
      lostTokens: tokens(
        starts.reduce((sum, start) => sum + (start.kind === "lost" ? start.expected - start.read : 0), 0),
      ),
    },
    events: starts.map(({ kind, read }) => (kind === "cold" && read > 0 ? ["header-shared"] : [])),
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

/**
 * What a request found in the cache. `warm`: what its own session had written. Otherwise that was not there, and another
 * session had written what was read. `cold`: it had expired. `lost`: it had not.
 */
interface RequestStart {
  readonly kind: "warm" | "cold" | "lost";
  readonly read: number;
  /** What it would have read if nothing had been lost. */
  readonly expected: number;
}

function findStart(rounds: readonly BareRound[], { index, lifetime }: RoundPlace): RequestStart {
  const { at = 0, usage } = rounds[index] ?? {};
  const last = rounds[index - 1];
  const read = usage?.cacheRead ?? 0;
  const expected =
    usage === undefined || last?.usage === undefined ? 0 : Math.min(...[usage, last.usage].map(requestTokens));
  if (usage !== undefined && last === undefined) return { kind: "cold", read, expected };
  if (last === undefined || 2 * read >= expected) return { kind: "warm", read, expected };
  if (at - last.at >= millisByLifetime[lifetime]) return { kind: "cold", read, expected };
  return { kind: isExplainedMiss(rounds, index) ? "warm" : "lost", read, expected };
}

/** A client that cuts its context loses what follows, and so does a request that adds more blocks than a mark looks back. */
function isExplainedMiss(rounds: readonly BareRound[], index: number): boolean {
  const added = [...(rounds[index - 1]?.reply ?? []), ...(rounds[index]?.before ?? [])].flatMap(requestBlocks);
  return isCut(rounds, index) || added.length > lookBackBlocks;
}
