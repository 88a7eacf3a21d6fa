import type { Prices } from "palimpsest/internal/schema/model";
import { countPromptTokens, type UsageSplit } from "palimpsest/internal/cache/usage-split";
import { isObject, textField } from "palimpsest/internal/schema/json";
import { extension } from "../extension.ts";
import { type BlockChange, blockChange, type ComparedRequests } from "./block-change.ts";
import type { ReplyLine } from "./trace-line.ts";
import {
  listEntries,
  type MissReason,
  missReasons,
  usableEntry,
  type ParameterChange,
  parameterChanges,
} from "./miss-reason.ts";
import type { TraceRequest } from "./read-trace.ts";

/** What changed from one request to a later one, and how that affected the cache. */
export interface TraceDiff {
  readonly from: number;
  readonly to: number;
  readonly blocks: BlockChange;
  readonly parameters: readonly ParameterChange[];
  readonly cache: CacheComparison & {
    /** The newest request that left the tokens read elsewhere. Null if there are none, or if it is not in the trace. */
    readonly elsewhere: number | null;
  };
}

interface CacheComparison {
  readonly reasons: readonly MissReason[];
  /** What the earlier request left in the cache. */
  readonly offeredTokens: number;
  /** Offered tokens that were read, as they are billed. */
  readonly readTokens: number;
  /** Offered tokens that were deleted in the cache by reference: neither read nor billed. */
  readonly deletedTokens: number;
  /** Tokens read of what other requests left. */
  readonly elsewhereTokens: number;
  /** Offered tokens that are in the later prompt too, but were written or sent again. */
  readonly againTokens: number;
  /** Cost beyond a full hit. Null if a price is unknown. */
  readonly extraUsd: number | null;
}

export function traceDiff(compared: ComparedRequests): TraceDiff {
  const { from, to, trace } = compared;
  const cache = compareCache(compared);
  return {
    from: from.n,
    to: to.n,
    blocks: blockChange(compared),
    parameters: parameterChanges({ from, to, reasons: cache.reasons }),
    cache: { ...cache, elsewhere: cache.elsewhereTokens === 0 ? null : findSource(trace.requests, to) },
  };
}

export function compareCache({ trace, from, to }: ComparedRequests): CacheComparison {
  const offered = from.reply?.usage === undefined ? undefined : listEntries(from).at(-1);
  const usable = offered === undefined ? undefined : usableEntry(from, to);
  const offeredCount = offered === undefined ? 0 : offered.at + 1;
  const split = replySplit(to.reply);
  // Results deleted by reference lie in what was read; they are not billed.
  const { tokens: allDeletedTokens } = extension.trace.withheld(to.reply);
  const readEnd = (split?.cacheReadTokens ?? 0) + allDeletedTokens;
  const usableEnd = Math.min(readEnd, usable === undefined ? 0 : from.blocks.tokensUpTo(usable.at + 1));
  const paid = split === undefined ? [] : findPaidSpans({ trace, from, to, offeredCount, readEnd });
  const isAllRead = split !== undefined && usableEnd === countPromptTokens(split) + allDeletedTokens;
  const deletedTokens = usableEnd === 0 ? 0 : allDeletedTokens - countDeletedBehind(usableEnd, { trace, to });
  return {
    reasons: missReasons({ from, to, isAllRead }),
    offeredTokens: from.blocks.tokensUpTo(offeredCount),
    readTokens: usableEnd - deletedTokens,
    deletedTokens,
    elsewhereTokens: readEnd - usableEnd - (allDeletedTokens - deletedTokens),
    againTokens: paid.reduce((sum, span) => sum + overlap(span, { start: readEnd, end: Number.POSITIVE_INFINITY }), 0),
    extraUsd: split === undefined ? null : extraUsd({ prices: to.reply?.pricesUsdPerMTok, split, readEnd, paid }),
  };
}

/** Tokens of results that the request deleted after this place. */
function countDeletedBehind(place: number, { trace, to }: Pick<ComparedRequests, "trace" | "to">): number {
  const applied = new Set(extension.trace.withheld(to.reply).applied);
  let behind = 0;
  let end = 0;
  if (applied.size === 0) return behind;
  for (const { hash, tokens } of to.blocks) {
    end += tokens;
    if (end > place && applied.has(resultId(trace, hash))) behind += tokens;
  }
  return behind;
}

/**
 * Id of the call that a block answers, as far as the trace holds it. The trace holds only the beginning of a long
 * block.
 */
function resultId({ blockByHash }: ComparedRequests["trace"], hash: string): string {
  const block = blockByHash.get(hash);
  if (block?.blockType !== "tool_result") return "";
  const { value } = block;
  if (isObject(value)) return textField(value, "tool_use_id") ?? "";
  return typeof value === "string" ? (/"tool_use_id":"([^"\\]*)"/.exec(value)?.[1] ?? "") : "";
}

/** The newest request that left what this one read. */
function findSource(requests: readonly TraceRequest[], to: TraceRequest): number | null {
  const hit = to.cache?.hit ?? null;
  if (hit === null) return null;
  const source = requests.findLast(
    (request) => request.n < to.n && request.reply?.usage !== undefined && (usableEntry(request, to)?.at ?? -1) >= hit,
  );
  return source?.n ?? null;
}

/** A part of a prompt, in tokens from its beginning. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/** A part that was billed, and what it would have cost in a full hit. */
interface PaidSpan extends Span {
  readonly whenHit: "read" | "deleted";
}

interface PaidInput extends ComparedRequests {
  readonly offeredCount: number;
  /** Whichever request wrote it. */
  readonly readEnd: number;
}

/**
 * Blocks of the later prompt that were offered, each as often as it was, and that cost more than in a full hit: all
 * that was not read, and what was read although either request would have it deleted.
 */
function findPaidSpans({ trace, from, to, offeredCount, readEnd }: PaidInput): readonly PaidSpan[] {
  const { applied, ignored } = extension.trace.withheld(to.reply);
  const deletable = new Set([...extension.trace.withheld(from.reply).applied, ...ignored]);
  for (const id of applied) deletable.delete(id);
  const timesByHash = new Map<string, number>();
  for (const { hash } of from.blocks.from(0).slice(0, offeredCount))
    timesByHash.set(hash, (timesByHash.get(hash) ?? 0) + 1);
  const paid: PaidSpan[] = [];
  let start = 0;
  for (const { hash, tokens } of to.blocks) {
    const end = start + tokens;
    const times = timesByHash.get(hash) ?? 0;
    if (times > 0) timesByHash.set(hash, times - 1);
    const isDeletable = times > 0 && deletable.size > 0 && deletable.has(resultId(trace, hash));
    if (isDeletable) paid.push({ start, end, whenHit: "deleted" });
    else if (times > 0 && end > readEnd) paid.push({ start: Math.max(start, readEnd), end, whenHit: "read" });
    start = end;
  }
  return paid;
}

/**
 * Each request with the one that it is best compared with: the answered one of its workspace whose prefix it shares, or
 * else the last one before it there; among several, one that left something in the cache. Undefined for the first, and
 * for a request that never reached the cache.
 */
export function* pairWithEarlier(
  requests: readonly TraceRequest[],
): Generator<{ readonly request: TraceRequest; readonly before: TraceRequest | undefined }> {
  const requestByNumber = new Map<number, TraceRequest>();
  const lastByWorkspace = new Map<string, TraceRequest>();
  const lastLeavingByWorkspace = new Map<string, TraceRequest>();
  const findSharing = ({ base, workspace }: TraceRequest, isWanted: (candidate: TraceRequest) => boolean) => {
    let candidate = base === null ? undefined : requestByNumber.get(base);
    while (candidate !== undefined && !(isWanted(candidate) && candidate.workspace === workspace))
      candidate = candidate.base === null ? undefined : requestByNumber.get(candidate.base);
    return candidate;
  };
  const nearest = (request: TraceRequest): TraceRequest | undefined =>
    findSharing(request, hasLeft) ??
    requestByNumber.get(findSource(requests, request) ?? -1) ??
    findSharing(request, hasReachedCache) ??
    lastLeavingByWorkspace.get(request.workspace) ??
    lastByWorkspace.get(request.workspace);
  for (const request of requests) {
    yield { request, before: hasReachedCache(request) ? nearest(request) : undefined };
    requestByNumber.set(request.n, request);
    if (hasReachedCache(request)) lastByWorkspace.set(request.workspace, request);
    if (hasLeft(request)) lastLeavingByWorkspace.set(request.workspace, request);
  }
}

const hasLeft = (request: TraceRequest): boolean => hasReachedCache(request) && listEntries(request).length > 0;

const hasReachedCache = ({ cache, reply }: TraceRequest): boolean => cache !== undefined && reply?.usage !== undefined;

/** As it was billed; if the trace does not say so, as it was reported to the client. */
function replySplit(reply: ReplyLine | undefined): UsageSplit | undefined {
  if (reply?.usage === undefined) return undefined;
  const { usage, split } = reply;
  return (
    split ?? {
      inputTokens: usage.input_tokens,
      cacheReadTokens: usage.cache_read_input_tokens,
      cacheWrite5mTokens: usage.cache_creation.ephemeral_5m_input_tokens,
      cacheWrite1hTokens: usage.cache_creation.ephemeral_1h_input_tokens,
    }
  );
}

/**
 * After what is read, a prompt is written for an hour, then for five minutes, and the rest is input: so each token has
 * its price.
 */
function extraUsd({
  prices,
  split,
  readEnd,
  paid,
}: {
  readonly prices: Prices | undefined;
  readonly split: UsageSplit;
  readonly readEnd: number;
  readonly paid: readonly PaidSpan[];
}): number | null {
  if (paid.length === 0) return 0;
  if (prices === undefined) return null;
  const hourEnd = readEnd + split.cacheWrite1hTokens;
  const minutesEnd = hourEnd + split.cacheWrite5mTokens;
  const zones = [
    { start: 0, end: readEnd, price: prices.cacheRead },
    { start: readEnd, end: hourEnd, price: prices.cacheWrite1h },
    { start: hourEnd, end: minutesEnd, price: prices.cacheWrite5m },
    { start: minutesEnd, end: Number.POSITIVE_INFINITY, price: prices.input },
  ];
  const more = paid.flatMap((span) => {
    const hitPrice = span.whenHit === "deleted" ? 0 : prices.cacheRead;
    return zones.map(({ price, ...zone }) => overlap(span, zone) * (price - hitPrice));
  });
  return more.reduce((sum, usd) => sum + usd, 0) / 1e6;
}

const overlap = (one: Span, other: Span): number =>
  Math.max(0, Math.min(one.end, other.end) - Math.max(one.start, other.start));
