import { isWorthLess, scaleOf, staleSince } from "../../../cache/clear-price.ts";
import type { Resident } from "../../../cache/inventory.ts";
import { figure } from "../../../schema/figure.ts";
import { plural } from "../../../schema/plural.ts";
import { cacheDeletionsMax } from "../../../schema/wire/cache-edits.ts";
import type { Candidate, Layer } from "../../layer.ts";
import type { PipelineState } from "../../pipeline-state.ts";
import { resultCount, tokenFigure } from "../figures.ts";
import { clearCandidate, resultContents } from "../run-clear.ts";
import { deletedText } from "./deleted-text.ts";
import { deletionsByServer } from "./server.ts";
import { forgetDeletions } from "./settle.ts";

/**
 * In the provider's cache: while it is warm, old results are deleted by reference and the messages stay as they are, so
 * nothing is written again. On a cold cache there is nothing to delete them from: clearing does that better.
 */
export const clearInCache: Layer = {
  name: "clear.cacheEdits",
  switches: ["clear.cacheEdits"],
  inPolicy: ({ clear: { inCache } }) =>
    inCache === undefined
      ? undefined
      : {
          name: "clear in the cache",
          value: `from ${figure(inCache.fromResults)} ${plural(inCache.fromResults, "result")}, keep ${inCache.keepResults}`,
        },
  propose(state) {
    if (state.offers?.has("cache-edits") !== true || !state.isOn("clear.cacheEdits")) return undefined;
    if (state.prefixes.isCold(state.moment.at)) return undefined;
    const results = chosen(state);
    if (results.length === 0) return undefined;
    const removesTokens = results.reduce((sum, { tokens }) => sum + tokens, 0) * scaleOf(state);
    const because = `deleted in the cache, where nothing is written again: ${tokenFigure(removesTokens)} tokens of ${resultCount(results.length)}`;
    return {
      layer: "clear.cacheEdits",
      removesTokens,
      behindTokens: 0,
      because,
      edit: {
        draft: { type: "server-edits", deleted: results.map(({ toolUse }) => toolUse), because },
        what: "delete-in-cache",
        count: results.length,
        nature: "reduced",
        cut: "none",
      },
    };
  },
  mend: clearUndeleted,
  settle: forgetDeletions,
  server: deletionsByServer,
};

/**
 * Deleted in a cache that is gone, or of a server that takes no deletions: they would be shown and paid for again. Then
 * their markers take their place; where the cache was lost and written again by the request that found out, they may be
 * deleted there once more. A server that has not said what it takes is no reason.
 */
function clearUndeleted(state: PipelineState): Candidate | undefined {
  const { withheld, items, count, moment, prefixes, offers } = state;
  const isCold = prefixes.isCold(moment.at);
  const takesNone = offers?.has("cache-edits") === false;
  if (withheld.size === 0 || (!isCold && !takesNone)) return undefined;
  const deleted = deletedText(withheld.size);
  const why = isCold
    ? `the cache in which ${deleted} is cold`
    : `${deleted} in the cache of a server that can do that, and this one can't`;
  const removesTokens = resultContents(items, withheld).reduce(
    (sum, { toolUse, content }) => sum + count({ type: "tool_result", tool_use_id: toolUse, content }),
    0,
  );
  const because = `${why}: what is deleted would be shown again`;
  const figures = { layer: "clear.cacheEdits", removesTokens, behindTokens: 0, because };
  return clearCandidate(figures, { cause: "idle", results: [...withheld], marker: "named" });
}

function chosen(state: PipelineState): readonly Resident[] {
  const { inCache, byPrice } = state.policy.clear;
  if (inCache === undefined) return [];
  const residents = residentsOldestFirst(state);
  if (residents.length < inCache.fromResults) return [];
  const room = Math.max(0, cacheDeletionsMax - state.withheld.size);
  const old = residents.slice(0, Math.max(0, residents.length - inCache.keepResults)).slice(0, room);
  if (byPrice === undefined) return old;
  const input = { ...state, rule: byPrice };
  return old.filter((one) => staleSince(one, byPrice) <= state.inventory.round && isWorthLess(input, one));
}

function residentsOldestFirst({ inventory, withheld }: PipelineState): readonly Resident[] {
  const residents: Resident[] = [];
  for (let one = inventory.oldest; one !== undefined; one = one.after)
    if (!withheld.has(one.toolUse)) residents.push(one);
  return residents;
}
