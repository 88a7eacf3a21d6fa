import { tokenFigure } from "../2-clear/figures.ts";
import type { Act } from "../candidate.ts";
import type { CompactionState, Layer, PipelineState } from "../pipeline.ts";
import { headroomBelow } from "./headroom.ts";

/** Compaction is due at the threshold at the latest; earlier where the rent on what it would remove has paid for it. */
export const compactWhenDue: Layer = {
  name: "compact",
  propose({ policy, isOn, compaction, moment, thresholds }) {
    const rule = policy.compact;
    if (rule === undefined || compaction === undefined || !isOn("compact.auto")) return undefined;
    // Where old rounds collapse, that manages the context: a summary behind it would cover stand-ins.
    if (policy.collapse === "on" && isOn("collapse")) return undefined;
    const { price, rent } = compaction;
    if (!makesRoom({ compaction, moment, thresholds })) return undefined;
    const hasPaid = rule.patience !== undefined && rent >= rule.patience * price.total && price.removesTokens > 0;
    const needed = `${rule.patience ?? 0} × ${tokenFigure(price.total)}, the price of compacting`;
    const paid: Firing = { trigger: "price", because: `rent ${tokenFigure(rent)} ≥ ${needed}` };
    const fires = firing(moment.contextTokens, thresholds) ?? (hasPaid ? paid : undefined);
    if (fires === undefined) return undefined;
    const { trigger, because } = fires;
    return {
      layer: "compact",
      removesTokens: price.removesTokens,
      behindTokens: 0,
      loss: "summarised",
      needs: "model",
      act: { kind: "compact", trigger },
      because,
    };
  },
};

/** Whether a summary is worth preparing: over the warning, where a compaction would make room. */
export function isNear({ policy, isOn, compaction, moment, thresholds }: PipelineState): boolean {
  if (policy.summary?.made !== "ahead" || !isOn("compact.auto") || !isOn("compact.background")) return false;
  return (
    compaction !== undefined &&
    moment.contextTokens >= thresholds.warning &&
    makesRoom({ compaction, moment, thresholds })
  );
}

interface Firing {
  readonly trigger: Extract<Act, { kind: "compact" }>["trigger"];
  readonly because: string;
}

interface Room extends Pick<PipelineState, "moment" | "thresholds"> {
  readonly compaction: CompactionState;
}

/** What would be over the threshold again at once is no compaction but the beginning of a loop. */
const makesRoom = ({ compaction, moment, thresholds }: Room): boolean =>
  moment.contextTokens - compaction.price.removesTokens + headroomBelow(thresholds.compact) <= thresholds.compact;

/** Over the hard limit it may also come without a model, and so need not be asked for a second time where one fails. */
function firing(used: number, { compact, blocking }: PipelineState["thresholds"]): Firing | undefined {
  if (used >= blocking)
    return { trigger: "limit", because: `${reaches(used, blocking)}, over which no request can be sent` };
  return used >= compact
    ? { trigger: "threshold", because: `${reaches(used, compact)}, where compaction fires` }
    : undefined;
}

const reaches = (used: number, threshold: number): string => `${tokenFigure(used)} tokens ≥ ${tokenFigure(threshold)}`;
