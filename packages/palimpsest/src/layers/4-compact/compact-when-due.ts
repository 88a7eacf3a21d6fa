import { field, isObject, type JsonObject } from "../../schema/json.ts";
import { serverSummaryBeta } from "../../schema/block.ts";
import type { Offers, PipelineState, CompactionState } from "../pipeline-state.ts";
import { noServerOptions, type ServerOptions, type ServerUse, supports } from "../server/server-use.ts";
import { compactionFigures, compactionNowCost, explainCompaction, explainLimit, explainThreshold } from "../reason.ts";
import type { CompactRequest, Layer } from "../layer.ts";
import { headroomBelow } from "./compaction-budgets.ts";
import { type CompactSize, priceCompact, readableTokens } from "../../cache/compact-price.ts";
import type { CallRates } from "../../cache/cache-rates.ts";
import type { CompactRule, EarlyCompactRule } from "../policy.ts";

/** Compaction by the provider, if it offers that and it is switched on. */
const summaryByServer: ServerUse = {
  offer: "compaction",
  isOffered: (capabilities) => supports(capabilities, "compaction") && summarises(capabilities),
  isWanted: ({ policy, isOn }) => policy.compact !== undefined && isOn("compact.server"),
  optionsByRule: (input) => (canServerCompact(input) ? serverCompactionOptions : noServerOptions),
};

/**
 * Whether the provider may be asked for the summary of a conversation: it is switched on, the policy compacts, and the
 * model offers it. Valid once `fetchOffers` has asked.
 */
export const canServerCompact = ({
  policy,
  isOn,
  offers,
}: Pick<PipelineState, "policy" | "isOn"> & { readonly offers: Offers | undefined }): boolean =>
  isOn("compact.server") && policy.compact !== undefined && offers?.has("compaction") === true;

/**
 * Sent with every request of a conversation that the provider may compact. Betas are part of the cache key, so one that
 * only the compaction's request has would read nothing. Nothing else is asked beside it: edits can't be combined with
 * it.
 */
export const serverCompactionOptions: ServerOptions = { params: {}, betas: [serverSummaryBeta] };

/** Whether it compacts on request. Compacting at its own threshold is another capability. */
function summarises(capabilities: JsonObject): boolean {
  const compaction = field(capabilities, "compaction");
  const summarize = isObject(compaction) ? field(compaction, "summarize") : undefined;
  return summarize === true || (isObject(summarize) && summarize["supported"] === true);
}

/** Compacts at the threshold at the latest, and earlier if the rent on what it would remove has paid for it. */
export const compactWhenDue: Layer = {
  name: "compact",
  switches: ["compact.auto"],
  replaces: "all",
  server: summaryByServer,
  propose(state) {
    const { policy, isOn, compaction, moment, thresholds } = state;
    const rule = policy.compact;
    if (rule === undefined || compaction === undefined || !isOn("compact.auto")) return undefined;
    if (isOn("collapse") && collapseManages(state)) return undefined;
    const { price } = compaction;
    if (!makesRoom({ policy, compaction, moment, thresholds })) return undefined;
    const request =
      compactRequestAt(moment.contextTokens, thresholds) ?? requestWhenPaid(rule.early, { ...state, compaction });
    if (request === undefined) return undefined;
    return {
      layer: "compact",
      removesTokens: price.removesTokens,
      behindTokens: 0,
      cost: request.cause === "price" ? 0 : price.total,
      ...(request.cause === "price" ? { unforcedCost: compactionNowCost(price) } : {}),
      because: request.because,
      results: [],
      run: (host) => host.compact(request),
    };
  },
};

/**
 * If old rounds collapse, that manages the context: a summary would only cover stand-ins. Where the user switched it on,
 * compaction is still there when collapsing does not make room.
 */
const collapseManages = ({ policy, moment, thresholds }: PipelineState): boolean =>
  policy.collapse === "on" || moment.contextTokens < thresholds.blocking;

/** Asks for an unforced compaction, if it has paid for itself and the context is large enough to be worth it. */
function requestWhenPaid(
  rule: EarlyCompactRule | undefined,
  { compaction, moment, thresholds, items, prefixes }: PipelineState & { readonly compaction: CompactionState },
): CompactRequest | undefined {
  if (rule === undefined || moment.contextTokens < rule.fromWindowShare * thresholds.window) return undefined;
  if (rule.whenCold === "never" && prefixes.isCold(moment.at)) return undefined;
  const { price, rent } = compaction;
  const isFirst = !items.some(({ summary }) => summary === true);
  const patience = isFirst ? rule.patience.first : rule.patience.later;
  const netPrice = price.total - price.savesNext;
  if (price.removesTokens === 0 || rent < patience * netPrice) return undefined;
  return {
    cause: "price",
    because: explainCompaction(price, moment),
    figures: compactionFigures(price, { rent, neededRent: patience * netPrice }),
  };
}

/** Whether a summary is worth preparing: the context is over the warning, and a compaction would make room. */
export function isNearThreshold({ policy, isOn, compaction, moment, thresholds }: PipelineState): boolean {
  if (policy.summary?.made !== "ahead" || !isOn("compact.auto") || !isOn("compact.background")) return false;
  return (
    compaction !== undefined &&
    moment.contextTokens >= thresholds.warning &&
    makesRoom({ policy, compaction, moment, thresholds })
  );
}

/**
 * Whether a compaction makes enough room for the policy. If the context were over the threshold again at once, it would
 * compact in a loop.
 */
const makesRoom = ({
  policy,
  compaction,
  moment,
  thresholds: { compact },
}: Pick<PipelineState, "policy" | "moment" | "thresholds"> & { readonly compaction: CompactionState }): boolean =>
  policy.compact?.headroomTokens === undefined ||
  moment.contextTokens - compaction.price.removesTokens + headroomBelow(compact, policy) <= compact;

/** Over the hard limit a summary without a model is acceptable too, so a failed model need not be asked again. */
function compactRequestAt(
  used: number,
  { compact, blocking }: PipelineState["thresholds"],
): CompactRequest | undefined {
  if (used >= blocking) return { cause: "limit", because: explainLimit(used, blocking) };
  return used >= compact ? { cause: "threshold", because: explainThreshold(used, compact) } : undefined;
}

interface PriceNowInput extends Pick<PipelineState, "inventory" | "prefixes" | "moment"> {
  readonly rule: CompactRule;
  readonly size: CompactSize;
  /** Tokens of what would stay as it is: pins, and what waits for its answer. */
  readonly keptTokens: number;
  readonly rent: number;
  readonly rounds: number;
  /** If another model writes the summary: it reads no cache. */
  readonly callRates?: CallRates | undefined;
}

/** What compacting would cost now. Live sessions and replays use the same calculation. */
export function priceCompactionNow({
  rule,
  size,
  keptTokens,
  rent,
  rounds,
  callRates,
  ...now
}: PriceNowInput): CompactionState {
  const { rates, contextTokens, fixedTokens } = now.moment;
  const price = priceCompact({
    rates,
    contextTokens,
    fixedTokens,
    cache: now.prefixes.isCold(now.moment.at) ? "cold" : "warm",
    cachedTokens: rule.call === "fork" && callRates === undefined ? readableTokens(now) : 0,
    callRates,
    leavesTokens: size.leavesTokens + keptTokens,
    outputTokens: size.outputTokens,
    lossCost: rule.lossCost ?? 0,
  });
  return { price, rent, rounds };
}
