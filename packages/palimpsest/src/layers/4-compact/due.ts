import { tokenFigure } from "../2-clear/figures.ts";
import type { CompactAsk, Layer } from "../layer.ts";
import type { CompactionState, PipelineState } from "../pipeline-state.ts";
import { summaryByServer } from "./by-server.ts";
import { headroomBelow } from "./headroom.ts";

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
    const ask = askAt(moment.contextTokens, thresholds) ?? (hasPaid ? askAsPaid(compaction, rule.patience) : undefined);
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

function askAsPaid({ price, rent }: CompactionState, patience: number): CompactAsk {
  const needed = `${patience} × ${tokenFigure(price.total)}, the price of compacting`;
  return { cause: "price", because: `rent ${tokenFigure(rent)} ≥ ${needed}` };
}

/** Whether a summary is worth preparing: over the warning, where a compaction would make room. */
export function isNear({ policy, isOn, compaction, moment, thresholds }: PipelineState): boolean {
  if (policy.summary?.made !== "ahead" || !isOn("compact.auto") || !isOn("compact.background")) return false;
  return (
    compaction !== undefined &&
    moment.contextTokens >= thresholds.warning &&
    makesRoom({ compaction, moment, thresholds })
  );
}

interface Room extends Pick<PipelineState, "moment" | "thresholds"> {
  readonly compaction: CompactionState;
}

/** What would be over the threshold again at once is no compaction but the beginning of a loop. */
const makesRoom = ({ compaction, moment, thresholds }: Room): boolean =>
  moment.contextTokens - compaction.price.removesTokens + headroomBelow(thresholds.compact) <= thresholds.compact;

/** Over the hard limit it may also come without a model, and so need not be asked for a second time where one fails. */
function askAt(used: number, { compact, blocking }: PipelineState["thresholds"]): CompactAsk | undefined {
  if (used >= blocking)
    return { cause: "limit", because: `${reaches(used, blocking)}, over which no request can be sent` };
  return used >= compact
    ? { cause: "threshold", because: `${reaches(used, compact)}, where compaction fires` }
    : undefined;
}

const reaches = (used: number, threshold: number): string => `${tokenFigure(used)} tokens ≥ ${tokenFigure(threshold)}`;
