import { scaleOf } from "../../cache/clear-price.ts";
import type { Resident } from "../../cache/inventory.ts";
import type { Layer, PipelineState } from "../pipeline.ts";
import type { IdleRule } from "../policy.ts";
import { resultCount, tokenFigure } from "./figures.ts";

/** By idleness: the cached prefix is gone anyway, so all but the newest results go before it is written again. */
export const clearByIdleness: Layer = {
  name: "clear.idle",
  propose(state) {
    const rule = state.policy.clear.byIdleness;
    if (rule === undefined || !state.isOn("clear.idle") || !isIdle(state, rule)) return undefined;
    const results: Resident[] = [];
    const keep = Math.max(1, rule.keepResults);
    let kept = 0;
    for (let one = state.inventory.newest; one !== undefined; one = one.before) {
      if (kept < keep) kept += 1;
      else results.push(one);
    }
    if (results.length === 0) return undefined;
    const removesTokens = results.reduce((sum, { tokens }) => sum + tokens, 0) * scaleOf(state);
    return {
      layer: "clear.idle",
      removesTokens,
      behindTokens: 0,
      loss: "by-id",
      needs: "nothing",
      act: {
        kind: "clear",
        cause: "idle",
        results: results.map(({ toolUse }) => toolUse).toReversed(),
        marker: "named",
      },
      because: `the cache is cold: ${tokenFigure(removesTokens)} tokens of ${resultCount(results.length)} need not be written again`,
    };
  },
};

function isIdle({ prefixes, moment, idleMillis }: PipelineState, { after }: IdleRule): boolean {
  if (idleMillis === undefined) return false;
  return after === "cache" ? prefixes.isCold(moment.at) : idleMillis > after.minutes * 60_000;
}
