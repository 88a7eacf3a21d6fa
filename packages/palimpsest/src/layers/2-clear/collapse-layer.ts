import { scaleOf } from "../../cache/clear-price.ts";
import { tokens } from "../../schema/brand.ts";
import { plural } from "../../schema/plural.ts";
import type { Layer } from "../layer.ts";
import { planCollapse } from "./collapse.ts";
import { tokenFigure } from "./figures.ts";

/** Collapse: from the warning on, the oldest run of rounds goes and its stand-in is shown, one run before a request. */
export const collapseOldest: Layer = {
  name: "collapse",
  switches: ["collapse"],
  propose(state) {
    const { decisions, prefixes, moment, thresholds, items, pins, withheld } = state;
    if (decisions === undefined || !state.isOn("collapse") || moment.contextTokens < thresholds.warning)
      return undefined;
    const view = { items, decisions, pins, withheld };
    const plan = planCollapse({ view, count: (block) => tokens(state.count(block)), freeTokens: tokens(1) });
    const [run] = plan.runs;
    if (run === undefined) return undefined;
    const removesTokens = plan.tokens * scaleOf(state);
    const isCold = prefixes.isCold(moment.at);
    const { span, shown } = run;
    const because = `over ${tokenFigure(thresholds.warning)} tokens: the oldest ${run.rounds} ${plural(run.rounds, "round")} collapse, ${tokenFigure(removesTokens)} tokens`;
    return {
      layer: "collapse",
      removesTokens,
      behindTokens: isCold ? 0 : moment.contextTokens - moment.fixedTokens - removesTokens,
      because,
      edit: { draft: { type: "collapse", span, shown, because }, what: "collapse", count: 1, nature: "summarised" },
    };
  },
};
