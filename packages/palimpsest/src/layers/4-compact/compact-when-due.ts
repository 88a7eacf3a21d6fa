import { field, isObject, type JsonObject } from "../../schema/json.ts";
import { serverSummaryBeta } from "../../schema/block.ts";
import type { Offers, PipelineState, CompactionState } from "../pipeline-state.ts";
import { noServerOptions, type ServerOptions, type ServerUse, supports } from "../server/server-use.ts";
import { formatTokenCount } from "../2-clear/format-token-count.ts";
import type { CompactRequest, Layer } from "../layer.ts";
import { headroomBelow } from "./compaction-budgets.ts";
import { type CompactSize, priceCompact, readableTokens } from "../../cache/compact-price.ts";
import type { CompactRule } from "../policy.ts";

/** Compaction by the provider, wherever it offers that and somebody turned it on. */
const summaryByServer: ServerUse = {
  offer: "compaction",
  isOffered: (capabilities) => supports(capabilities, "compaction") && summarises(capabilities),
  isWanted: ({ policy, isOn }) => policy.compact !== undefined && isOn("compact.server"),
  optionsByRule: (ask) => (canServerCompact(ask) ? serverCompactionOptions : noServerOptions),
};

interface CompactingServer extends Pick<PipelineState, "policy" | "isOn"> {
  readonly offers: Offers | undefined;
}

/**
 * Whether the provider may be asked for the summary of a conversation: somebody turned it on, the policy compacts, and the
 * model offers it. Valid once `offersOf` has asked.
 */
export const canServerCompact = ({ policy, isOn, offers }: CompactingServer): boolean =>
  isOn("compact.server") && policy.compact !== undefined && offers?.has("compaction") === true;

/**
 * With every request of a conversation that the provider may compact: betas are part of what its cache is found by, so
 * that one of the compaction's alone would read nothing. Nothing else is asked beside it: edits can't be combined with it.
 */
export const serverCompactionOptions: ServerOptions = { params: {}, betas: [serverSummaryBeta] };

/** At a threshold of its own is another thing than when it is asked to. */
function summarises(capabilities: JsonObject): boolean {
  const compaction = field(capabilities, "compaction");
  const summarize = isObject(compaction) ? field(compaction, "summarize") : undefined;
  return summarize === true || (isObject(summarize) && summarize["supported"] === true);
}

/** Compaction is due at the threshold at the latest; earlier where the rent on what it would remove has paid for it. */
export const compactWhenDue: Layer = {
  name: "compact",
  switches: ["compact.auto"],
  replaces: "all",
  server: summaryByServer,
  propose({ policy, isOn, compaction, moment, thresholds }) {
    const rule = policy.compact;
    if (rule === undefined || compaction === undefined || !isOn("compact.auto")) return undefined;
    // Where old rounds collapse, that manages the context: a summary behind it would cover stand-ins.
    if (policy.collapse === "on" && isOn("collapse")) return undefined;
    const { price, rent } = compaction;
    if (!makesRoom({ compaction, moment, thresholds })) return undefined;
    const hasPaid = rule.patience !== undefined && rent >= rule.patience * price.total && price.removesTokens > 0;
    const ask =
      compactRequestAt(moment.contextTokens, thresholds) ??
      (hasPaid ? askAsPaid(compaction, rule.patience) : undefined);
    if (ask === undefined) return undefined;
    return {
      layer: "compact",
      removesTokens: price.removesTokens,
      behindTokens: 0,
      cost: ask.cause === "price" ? 0 : price.total,
      because: ask.because,
      results: [],
      run: (host) => host.compact(ask),
    };
  },
};

function askAsPaid({ price, rent }: CompactionState, patience: number): CompactRequest {
  const needed = `${patience} × ${formatTokenCount(price.total)}, the price of compacting`;
  return { cause: "price", because: `rent ${formatTokenCount(rent)} ≥ ${needed}` };
}

/** Whether a summary is worth preparing: over the warning, where a compaction would make room. */
export function isNearThreshold({ policy, isOn, compaction, moment, thresholds }: PipelineState): boolean {
  if (policy.summary?.made !== "ahead" || !isOn("compact.auto") || !isOn("compact.background")) return false;
  return (
    compaction !== undefined &&
    moment.contextTokens >= thresholds.warning &&
    makesRoom({ compaction, moment, thresholds })
  );
}

interface RoomInput extends Pick<PipelineState, "moment" | "thresholds"> {
  readonly compaction: CompactionState;
}

/** What would be over the threshold again at once is no compaction but the beginning of a loop. */
const makesRoom = ({ compaction, moment, thresholds }: RoomInput): boolean =>
  moment.contextTokens - compaction.price.removesTokens + headroomBelow(thresholds.compact) <= thresholds.compact;

/** Over the hard limit it may also come without a model, and so need not be asked for a second time where one fails. */
function compactRequestAt(
  used: number,
  { compact, blocking }: PipelineState["thresholds"],
): CompactRequest | undefined {
  if (used >= blocking)
    return { cause: "limit", because: `${reaches(used, blocking)}, over which no request can be sent` };
  return used >= compact
    ? { cause: "threshold", because: `${reaches(used, compact)}, where compaction fires` }
    : undefined;
}

const reaches = (used: number, threshold: number): string =>
  `${formatTokenCount(used)} tokens ≥ ${formatTokenCount(threshold)}`;

interface PriceNowInput extends Pick<PipelineState, "inventory" | "prefixes" | "moment"> {
  readonly rule: CompactRule;
  readonly size: CompactSize;
  /** Of what would stay as it is: pins, and what waits for its answer. */
  readonly keptTokens: number;
  readonly rent: number;
}

/** What compacting would cost now: a session that runs and one that is replayed reckon with the same. */
export function priceCompactionNow({ rule, size, keptTokens, rent, ...now }: PriceNowInput): CompactionState {
  const { rates, contextTokens, fixedTokens } = now.moment;
  const price = priceCompact({
    rates,
    contextTokens,
    fixedTokens,
    cachedTokens: rule.call === "fork" ? readableTokens(now) : 0,
    leavesTokens: size.leavesTokens + keptTokens,
    outputTokens: size.outputTokens,
    lossCost: rule.lossCost ?? 0,
  });
  return { price, rent };
}
