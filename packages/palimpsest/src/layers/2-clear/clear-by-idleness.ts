import { inventoryScale } from "../../cache/clear-price.ts";
import { millis } from "../../schema/brand.ts";
import { formatCount } from "../../text/format-count.ts";
import type { Resident } from "../../cache/resident.ts";
import type { Layer } from "../layer.ts";
import type { PipelineState } from "../pipeline-state.ts";
import type { IdleRule } from "../policy.ts";
import { explainColdRemoval, explainRemoval, formatResults } from "../reason.ts";
import { clearCandidate } from "./run-clear.ts";

/**
 * Clears all but the newest results after an idle time: the cached prefix is gone anyway, and has to be written again.
 */
export const clearByIdleness: Layer = {
  name: "clear.idle",
  switches: ["clear.idle"],
  propose(state) {
    const rule = state.policy.clear.byIdleness;
    if (rule === undefined || !state.isOn("clear.idle") || !isIdle(state, rule)) return undefined;
    const results: Resident[] = [];
    const keep = Math.max(1, rule.keepResults);
    let kept = 0;
    for (let resident = state.inventory.newest; resident !== undefined; resident = resident.before) {
      if (kept < keep) kept += 1;
      else results.push(resident);
    }
    if (results.length === 0) return undefined;
    const removesTokens = results.reduce((sum, { tokens }) => sum + tokens, 0) * inventoryScale(state);
    const figures = {
      layer: "clear.idle",
      removesTokens,
      behindTokens: 0,
      because: explainIdleRemoval({ removesTokens, of: formatResults(results.length) }, state),
    };
    const oldestFirst = results.map(({ toolUse }) => toolUse).toReversed();
    return clearCandidate(figures, { cause: "idle", results: oldestFirst, marker: rule.marker });
  },
};

/** A rule in minutes does not ask for the cache: an hour's cache may outlive them. */
function explainIdleRemoval(
  removal: { readonly removesTokens: number; readonly of: string },
  { prefixes, moment, idleMillis = millis(0) }: PipelineState,
): string {
  if (prefixes.isCold(moment.at)) return explainColdRemoval({ ...removal, cache: prefixes.state(moment.at) }, moment);
  return `after ${formatCount(Math.floor(idleMillis / 60_000))} idle minutes: ${explainRemoval(removal, moment)}`;
}

function isIdle({ prefixes, moment, idleMillis }: PipelineState, { after }: IdleRule): boolean {
  if (idleMillis === undefined) return false;
  return after === "cache" ? prefixes.isCold(moment.at) : idleMillis > after.minutes * 60_000;
}
