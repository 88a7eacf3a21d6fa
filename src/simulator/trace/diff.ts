import type { Prices } from "../../schema/model.ts";
import { promptTokensOf, type UsageSplit } from "../../cache/usage-split.ts";
import { type BlockChange, blockChange, type Compared } from "./block-change.ts";
import type { ReplyLine } from "./line.ts";
import { entriesOf, type MissReason, missReasons, usableEntry } from "./miss-reason.ts";
import { type ParameterChange, parameterChanges } from "./parameter-change.ts";
import type { TraceRequest } from "./reader.ts";

/** What changed from one request to a later one, and what that did to the cache. */
export interface TraceDiff {
  readonly from: number;
  readonly to: number;
  readonly blocks: BlockChange;
  readonly parameters: readonly ParameterChange[];
  readonly cache: CacheComparison & {
    /** The newest request that left these. Null where there are none, or where it is not in the trace. */
    readonly elsewhere: number | null;
  };
}

export interface CacheComparison {
  readonly reasons: readonly MissReason[];
  /** What the earlier request left in the cache. */
  readonly offeredTokens: number;
  /** Of these. */
  readonly readTokens: number;
  /** Read of what other requests left. */
  readonly elsewhereTokens: number;
  /** Of what was offered, and is in the later prompt too: written or sent again. */
  readonly againTokens: number;
  /** More than if all of that had been read. Null where a price is not known. */
  readonly extraUsd: number | null;
}

export function traceDiff(compared: Compared): TraceDiff {
  const { from, to, trace } = compared;
  const cache = cacheComparison(compared);
  return {
    from: from.n,
    to: to.n,
    blocks: blockChange(compared),
    parameters: parameterChanges(from, to),
    cache: { ...cache, elsewhere: cache.elsewhereTokens === 0 ? null : leftBy(trace.requests, to) },
  };
}

export function cacheComparison({ from, to }: Pick<Compared, "from" | "to">): CacheComparison {
  const offered = from.reply?.usage === undefined ? undefined : entriesOf(from).at(-1);
  const usable = offered === undefined ? undefined : usableEntry(from, to);
  const offeredCount = offered === undefined ? 0 : offered.at + 1;
  const split = splitOf(to.reply);
  const allReadTokens = split?.cacheReadTokens ?? 0;
  const readTokens = Math.min(allReadTokens, usable === undefined ? 0 : from.blocks.tokensUpTo(usable.at + 1));
  const again = split === undefined ? [] : againIn({ from, to, offeredCount, readTokens: allReadTokens });
  const isAllRead = split !== undefined && readTokens === promptTokensOf(split);
  return {
    reasons: missReasons({ from, to, isAllRead }),
    offeredTokens: from.blocks.tokensUpTo(offeredCount),
    readTokens,
    elsewhereTokens: allReadTokens - readTokens,
    againTokens: again.reduce((sum, { start, end }) => sum + end - start, 0),
    extraUsd: split === undefined ? null : extraUsd({ prices: to.reply?.pricesUsdPerMTok, split, again }),
  };
}

/** The newest request that left what this one read. */
function leftBy(requests: readonly TraceRequest[], to: TraceRequest): number | null {
  const hit = to.cache?.hit ?? null;
  if (hit === null) return null;
  const source = requests.findLast(
    (one) => one.n < to.n && one.reply?.usage !== undefined && (usableEntry(one, to)?.at ?? -1) >= hit,
  );
  return source?.n ?? null;
}

/** A part of a prompt, in tokens from its beginning. */
interface Span {
  readonly start: number;
  readonly end: number;
}

interface AgainInput {
  readonly from: TraceRequest;
  readonly to: TraceRequest;
  readonly offeredCount: number;
  /** From wherever. */
  readonly readTokens: number;
}

/** Blocks of the later prompt that were offered, each as often as it was, without what was read of them. */
function againIn({ from, to, offeredCount, readTokens }: AgainInput): readonly Span[] {
  const timesByHash = new Map<string, number>();
  for (const { hash } of from.blocks.from(0).slice(0, offeredCount))
    timesByHash.set(hash, (timesByHash.get(hash) ?? 0) + 1);
  const again: Span[] = [];
  let start = 0;
  for (const { hash, tokens } of to.blocks) {
    const end = start + tokens;
    const times = timesByHash.get(hash) ?? 0;
    if (times > 0) timesByHash.set(hash, times - 1);
    if (times > 0 && end > readTokens) again.push({ start: Math.max(start, readTokens), end });
    start = end;
  }
  return again;
}

/**
 * Each request with the one it is best compared with: the answered one of its workspace whose beginning it shares, else
 * the last one before it there. Undefined for the first, and for a request that never reached the cache.
 */
export function* comparands(
  requests: readonly TraceRequest[],
): Generator<{ readonly request: TraceRequest; readonly before: TraceRequest | undefined }> {
  const requestByNumber = new Map<number, TraceRequest>();
  const lastByWorkspace = new Map<string, TraceRequest>();
  const nearest = ({ base, workspace }: TraceRequest): TraceRequest | undefined => {
    let one = base === null ? undefined : requestByNumber.get(base);
    while (one !== undefined && !(reachedCache(one) && one.workspace === workspace)) {
      one = one.base === null ? undefined : requestByNumber.get(one.base);
    }
    return one ?? lastByWorkspace.get(workspace);
  };
  for (const request of requests) {
    yield { request, before: reachedCache(request) ? nearest(request) : undefined };
    requestByNumber.set(request.n, request);
    if (reachedCache(request)) lastByWorkspace.set(request.workspace, request);
  }
}

const reachedCache = ({ cache, reply }: TraceRequest): boolean => cache !== undefined && reply?.usage !== undefined;

/** As it was billed; in a trace that does not say it, as the client was told. */
function splitOf(reply: ReplyLine | undefined): UsageSplit | undefined {
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

interface PaidAgain {
  readonly prices: Prices | undefined;
  readonly split: UsageSplit;
  readonly again: readonly Span[];
}

/** Behind what is read a prompt is written for an hour, then for five minutes, the rest is input: so each token has its price. */
function extraUsd({ prices, split, again }: PaidAgain): number | null {
  if (again.length === 0) return 0;
  if (prices === undefined) return null;
  const hourEnd = split.cacheReadTokens + split.cacheWrite1hTokens;
  const minutesEnd = hourEnd + split.cacheWrite5mTokens;
  const paid = [
    { start: 0, end: hourEnd, price: prices.cacheWrite1h },
    { start: hourEnd, end: minutesEnd, price: prices.cacheWrite5m },
    { start: minutesEnd, end: Number.POSITIVE_INFINITY, price: prices.input },
  ];
  const more = again.flatMap((span) =>
    paid.map(({ price, ...zone }) => overlap(span, zone) * (price - prices.cacheRead)),
  );
  return more.reduce((sum, usd) => sum + usd, 0) / 1e6;
}

const overlap = (one: Span, other: Span): number =>
  Math.max(0, Math.min(one.end, other.end) - Math.max(one.start, other.start));
