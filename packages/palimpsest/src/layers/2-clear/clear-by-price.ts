import { type ClearInput, priceForcedClear, priceClear, type ClearPrice } from "../../cache/clear-price.ts";
import type { Candidate, Layer } from "../layer.ts";
import type { PipelineState } from "../pipeline-state.ts";
import { formatResultCount, formatTokenCount } from "./format-token-count.ts";
import { forcedKeepRounds } from "./limits.ts";
import { clearCandidate } from "./run-clear.ts";

/** By price: what pays goes, warm or cold; and what has to go where the context would not fit any more. */
export const clearByPrice: Layer = {
  name: "clear.price",
  // Of a warm cache and of a cold one.
  switches: ["clear.size", "clear.idle"],
  propose(state) {
    const rule = state.policy.clear.byPrice;
    if (rule === undefined) return undefined;
    const input = { ...state, rule };
    const isCold = state.prefixes.isCold(state.moment.at);
    if (!state.isOn(isCold ? "clear.idle" : "clear.size")) return undefined;
    const priced = state.planner === undefined ? priceClear(input) : state.planner.price(input);
    const chosen = isEnough(priced, state) ? priced : (forceClear(input, state) ?? priced);
    return chosen === undefined ? undefined : createPriceCandidate(chosen);
  },
};

const overLimit = ({ moment, thresholds }: PipelineState): number =>
  Math.max(0, moment.contextTokens - thresholds.compact);

/** What pays is enough, or nothing has to go. */
const isEnough = (priced: ClearPrice | undefined, state: PipelineState): boolean =>
  (priced?.removesTokens ?? 0) >= overLimit(state);

/**
 * Down to the warning, so that the next rounds need not clear again. Where that can't be reached, or leaves no room below
 * the threshold, nothing is forced: a cut that frees a little would come again every round. Unless otherwise no request
 * could be sent.
 */
function forceClear(input: ClearInput, { moment, thresholds, compaction }: PipelineState): ClearPrice | undefined {
  const freeTokens = moment.contextTokens - Math.min(thresholds.warning, thresholds.compact);
  // Fresh results go only where nobody can compact.
  const keepRounds = compaction === undefined ? forcedKeepRounds : Infinity;
  const found = priceForcedClear(input, { freeTokens, keepRounds });
  if (found === undefined || moment.contextTokens >= thresholds.blocking) return found;
  const leavesRoom = moment.contextTokens - found.removesTokens < thresholds.compact;
  return found.removesTokens >= freeTokens && leavesRoom ? found : undefined;
}

function createPriceCandidate(priced: ClearPrice): Candidate {
  const { removesTokens, behindTokens, againCost, riskCost } = priced;
  const cost = againCost + riskCost;
  const figures = { layer: "clear.price", removesTokens, behindTokens, cost, because: formatArithmetic(priced) };
  const results = priced.results.map(({ toolUse }) => toolUse);
  return clearCandidate(figures, { cause: "price", results, marker: "named", priced });
}

function formatArithmetic({
  why,
  removesTokens,
  results,
  rentCost,
  riskCost,
  againCost,
  neededRent,
  savedPerRound,
}: ClearPrice): string {
  const what = `${formatTokenCount(removesTokens)} tokens of ${formatResultCount(results.length)}`;
  const priced = "priced in input tokens:";
  const later = `saves ${formatTokenCount(savedPerRound)} a round, risk ${formatTokenCount(riskCost)}`;
  switch (why) {
    case "cold":
      return `the cache is cold: ${what} need not be written again; ${priced} ${later}`;
    case "warm":
      return `${what}; ${priced} rent ${formatTokenCount(rentCost)} ≥ ${formatTokenCount(neededRent)} for writing again (${formatTokenCount(againCost)}), ${later}`;
    case "forced":
      return `no room: ${what} go; ${priced} writing again ${formatTokenCount(againCost)}, ${later}`;
  }
}
