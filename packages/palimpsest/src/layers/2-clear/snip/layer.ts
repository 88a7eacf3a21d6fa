import { scaleOf } from "../../../cache/clear-price.ts";
import { plural } from "../../../schema/plural.ts";
import { tokens } from "../../../schema/brand.ts";
import type { Layer } from "../../layer.ts";
import { tokenFigure } from "../figures.ts";
import { snipEdit } from "./edit.ts";
import { planSnip } from "./plan.ts";

/** Snip: rounds of low value leave the view, where that breaks no cache or room is needed. */
export const snipLowValue: Layer = {
  name: "snip",
  switches: ["snip"],
  propose(state) {
    const { decisions, prefixes, moment, thresholds, items, pins, withheld } = state;
    if (decisions === undefined || !state.isOn("snip")) return undefined;
    const isCold = prefixes.isCold(moment.at);
    if (!isCold && moment.contextTokens < thresholds.warning) return undefined;
    const view = { items, decisions, pins, withheld };
    const plan = planSnip({ view, count: (block) => tokens(state.count(block)) });
    if (plan.entries.length === 0) return undefined;
    const removesTokens = plan.tokens * scaleOf(state);
    const rounds = plan.rounds.length;
    const reasons = [...new Set(plan.rounds.flatMap((round) => round.reasons))].join(", ");
    const because = `${rounds} ${plural(rounds, "round")} of low value: ${reasons}; ${tokenFigure(removesTokens)} tokens`;
    return {
      layer: "snip",
      removesTokens,
      behindTokens: isCold ? 0 : moment.contextTokens - moment.fixedTokens - removesTokens,
      because,
      edit: snipEdit(plan.entries, because),
    };
  },
};
