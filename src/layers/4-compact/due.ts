import { tokenFigure } from "../2-clear/figures.ts";
import type { Layer } from "../pipeline.ts";
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
    // What would be over the threshold again at once is no compaction but the beginning of a loop.
    if (moment.contextTokens - price.removesTokens + headroomBelow(thresholds.compact) > thresholds.compact)
      return undefined;
    const isOver = moment.contextTokens >= thresholds.compact;
    const hasPaid = rule.patience !== undefined && rent >= rule.patience * price.total && price.removesTokens > 0;
    if (!isOver && !hasPaid) return undefined;
    return {
      layer: "compact",
      removesTokens: price.removesTokens,
      behindTokens: 0,
      loss: "summarised",
      needs: "model",
      act: { kind: "compact", trigger: isOver ? "threshold" : "price" },
      because: isOver
        ? `${tokenFigure(moment.contextTokens)} tokens ≥ ${tokenFigure(thresholds.compact)}, where compaction fires`
        : `rent ${tokenFigure(rent)} ≥ ${rule.patience ?? 0} × ${tokenFigure(price.total)}, the price of compacting`,
    };
  },
};
