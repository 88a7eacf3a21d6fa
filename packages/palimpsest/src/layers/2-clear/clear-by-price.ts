import {
  type ClearInput,
  type ClearPrice,
  expectedSaving,
  priceClear,
  priceForcedClear,
} from "../../cache/clear-price.ts";
import type { Candidate, Layer } from "../layer.ts";
import type { PipelineState } from "../pipeline-state.ts";
import { clearFigures, explainClear } from "../reason.ts";
import { forcedKeepRounds } from "./limits.ts";
import { makesEnoughRoom } from "../worth.ts";
import { clearCandidate } from "./run-clear.ts";

/** Clears what pays, warm or cold, and what has to be cleared if the context would not fit any more. */
export const clearByPrice: Layer = {
  name: "clear.price",
  // One for a warm cache, one for a cold cache.
  switches: ["clear.size", "clear.idle"],
  propose(state) {
    const rule = state.policy.clear.byPrice;
    if (rule === undefined) return undefined;
    const input = { ...state, rule };
    const isCold = state.prefixes.isCold(state.moment.at);
    if (!state.isOn(isCold ? "clear.idle" : "clear.size")) return undefined;
    const found = state.planner === undefined ? priceClear(input) : state.planner.price(input);
    const price = [found, found?.why === "warm" ? priceColdClear(input) : undefined].find(
      (cut) => cut !== undefined && isWorthIt(cut, { input, state }),
    );
    const chosen = isEnough(price, state) ? price : (forceClear(input, state) ?? price);
    return chosen === undefined ? undefined : createPriceCandidate(chosen, input);
  },
};

/** What is written in any case is cleared for free, also if a longer cut is not worth it. */
const priceColdClear = (input: ClearInput): ClearPrice | undefined =>
  priceClear({ ...input, rule: { ...input.rule, patience: "never" } });

/** Whether an unforced cut makes enough room and saves enough money. Without such a minimum, whatever pays is done. */
function isWorthIt(
  price: ClearPrice,
  { input, state }: { readonly input: ClearInput; readonly state: PipelineState },
): boolean {
  const { removesTokens, why } = price;
  const { worth } = input.rule;
  if (worth === undefined) return true;
  return (
    makesEnoughRoom(removesTokens, { state, isCold: why === "cold" }) && expectedSaving(price, input) >= worth.savesMin
  );
}

const overLimit = ({ moment, thresholds }: PipelineState): number =>
  Math.max(0, moment.contextTokens - thresholds.compact);

/** Whether what pays is enough, or nothing has to be cleared. */
const isEnough = (price: ClearPrice | undefined, state: PipelineState): boolean =>
  (price?.removesTokens ?? 0) >= overLimit(state);

/**
 * Clears at least down to the warning, and as much more as makes the room cheapest: few large edits. If the warning can't
 * be reached, or that leaves no room below the threshold, nothing is forced, unless otherwise no request could be sent: a
 * cut that frees a little would be needed again every round.
 */
function forceClear(input: ClearInput, state: PipelineState): ClearPrice | undefined {
  const { moment, thresholds, compaction, growthTokens } = state;
  const freeTokens = moment.contextTokens - Math.min(thresholds.warning, thresholds.compact);
  // Fresh results are cleared only if compaction is not possible.
  const keepRounds = compaction === undefined ? forcedKeepRounds : Infinity;
  const limitTokens = thresholds.compact;
  const found = priceForcedClear(input, { freeTokens, keepRounds, limitTokens, growthTokens });
  if (found === undefined || moment.contextTokens >= thresholds.blocking) return found;
  const leavesRoom = moment.contextTokens - found.removesTokens < thresholds.compact;
  return found.removesTokens >= freeTokens && leavesRoom ? found : undefined;
}

function createPriceCandidate(price: ClearPrice, input: ClearInput): Candidate {
  const { why, removesTokens, behindTokens, againCost, riskCost } = price;
  const figures = {
    layer: "clear.price",
    removesTokens,
    behindTokens,
    cost: againCost + riskCost,
    ...(why === "warm" ? { unforcedCost: againCost } : {}),
    because: explainClear(price, input),
    figures: clearFigures(price, input.rule),
  };
  const results = price.results.map(({ toolUse }) => toolUse);
  return clearCandidate(figures, { cause: "price", results, marker: "named", priced: price });
}
