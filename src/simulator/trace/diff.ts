import type { Prices } from "../../schema/model.ts";
import { promptTokensOf, type UsageSplit } from "../cache/usage-split.ts";
import { type BlockChange, blockChange, type Compared } from "./block-change.ts";
import type { ReplyLine } from "./line.ts";
import { entriesOf, type MissReason, missReasons } from "./miss-reason.ts";
import { type ParameterChange, parameterChanges } from "./parameter-change.ts";
import type { TraceRequest } from "./reader.ts";

/** What changed from one request to a later one, and what that did to the cache. */
export interface TraceDiff {
  readonly from: number;
  readonly to: number;
  readonly blocks: BlockChange;
  readonly parameters: readonly ParameterChange[];
  readonly cache: CacheComparison;
}

export interface CacheComparison {
  readonly reasons: readonly MissReason[];
  /** What the earlier request left in the cache. */
  readonly offeredTokens: number;
  readonly readTokens: number;
  /** Of what was offered, as far as the later prompt is that long: written or sent again. */
  readonly againTokens: number;
  /** More than if all of that had been read. Null where a price is not known. */
  readonly extraUsd: number | null;
}

export const traceDiff = (compared: Compared): TraceDiff => ({
  from: compared.from.n,
  to: compared.to.n,
  blocks: blockChange(compared),
  parameters: parameterChanges(compared.from, compared.to),
  cache: cacheComparison(compared),
});

export function cacheComparison({ from, to }: Pick<Compared, "from" | "to">): CacheComparison {
  const last = entriesOf(from).at(-1);
  const answered = from.reply?.usage !== undefined;
  const offeredTokens = last === undefined || !answered ? 0 : from.blocks.tokensUpTo(last.at + 1);
  const split = splitOf(to.reply);
  const readTokens = split?.cacheReadTokens ?? 0;
  const againTokens =
    split === undefined ? 0 : Math.max(0, Math.min(offeredTokens, promptTokensOf(split)) - readTokens);
  return {
    reasons: missReasons({ from, to, againTokens }),
    offeredTokens,
    readTokens,
    againTokens,
    extraUsd: split === undefined ? null : extraUsd({ prices: to.reply?.pricesUsdPerMTok, split, againTokens }),
  };
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
  readonly againTokens: number;
}

/** Behind what is read a prompt is written for an hour, then for five minutes, the rest is input: in this order it is paid. */
function extraUsd({ prices, split, againTokens }: PaidAgain): number | null {
  if (againTokens === 0) return 0;
  if (prices === undefined) return null;
  const paid = [
    { tokens: split.cacheWrite1hTokens, price: prices.cacheWrite1h },
    { tokens: split.cacheWrite5mTokens, price: prices.cacheWrite5m },
    { tokens: split.inputTokens, price: prices.input },
  ];
  let left = againTokens;
  let extra = 0;
  for (const { tokens, price } of paid) {
    const again = Math.min(left, tokens);
    extra += (again * (price - prices.cacheRead)) / 1e6;
    left -= again;
  }
  return extra;
}
