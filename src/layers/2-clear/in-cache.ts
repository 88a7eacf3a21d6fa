import { isWorthLess, scaleOf, staleSince } from "../../cache/clear-price.ts";
import type { Resident } from "../../cache/inventory.ts";
import { cacheDeletionsMax } from "../../schema/wire/cache-edits.ts";
import type { Layer, PipelineState } from "../pipeline.ts";
import { resultCount, tokenFigure } from "./figures.ts";

/**
 * In the provider's cache: while it is warm, old results are deleted by reference and the messages stay as they are, so
 * nothing is written again. On a cold cache there is nothing to delete them from: clearing does that better.
 */
export const clearInCache: Layer = {
  name: "clear.cacheEdits",
  propose(state) {
    if (!state.offers.has("cache-edits") || !state.isOn("clear.cacheEdits")) return undefined;
    if (state.prefixes.isCold(state.moment.at)) return undefined;
    const results = chosen(state);
    if (results.length === 0) return undefined;
    const removesTokens = results.reduce((sum, { tokens }) => sum + tokens, 0) * scaleOf(state);
    return {
      layer: "clear.cacheEdits",
      removesTokens,
      behindTokens: 0,
      loss: "by-id",
      needs: "nothing",
      act: { kind: "delete-in-cache", results: results.map(({ toolUse }) => toolUse) },
      because: `deleted in the cache, where nothing is written again: ${tokenFigure(removesTokens)} tokens of ${resultCount(results.length)}`,
    };
  },
};

function chosen(state: PipelineState): readonly Resident[] {
  const { inCache, byPrice } = state.policy.clear;
  if (inCache === undefined) return [];
  const residents = residentsOldestFirst(state);
  if (residents.length < inCache.fromResults) return [];
  const room = Math.max(0, cacheDeletionsMax - state.deletedInCache.size);
  const old = residents.slice(0, Math.max(0, residents.length - inCache.keepResults)).slice(0, room);
  if (byPrice === undefined) return old;
  const input = { ...state, rule: byPrice };
  return old.filter((one) => staleSince(one, byPrice) <= state.inventory.round && isWorthLess(input, one));
}

function residentsOldestFirst({ inventory, deletedInCache }: PipelineState): readonly Resident[] {
  const residents: Resident[] = [];
  for (let one = inventory.oldest; one !== undefined; one = one.after)
    if (!deletedInCache.has(one.toolUse)) residents.push(one);
  return residents;
}
