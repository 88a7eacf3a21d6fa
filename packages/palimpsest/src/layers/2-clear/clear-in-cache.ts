import type { ToolUseId } from "../../schema/brand.ts";
import { cacheDeletionsMax, cacheEditsBeta } from "../../schema/wire/extension.ts";
import { noServerOptions, type ServerOptionsInput, type ServerUse, supports } from "../server/server-use.ts";
import { isWorthClearing, inventoryScale, staleSince } from "../../cache/clear-price.ts";
import type { Resident } from "../../cache/resident.ts";
import { formatCount, plural } from "../../text/format-count.ts";
import type { Candidate, Layer, SettleHost, SettleRun } from "../layer.ts";
import type { PipelineState } from "../pipeline-state.ts";
import { explainRemoval, formatResults } from "../reason.ts";
import { clearCandidate, resultContents } from "./run-clear.ts";

const formatDeleted = (results: number): string =>
  results === 1 ? "a result was deleted" : `${results} results were deleted`;

/** Deletions by reference: every request lists all that are in force. */
const serverDeletions: ServerUse = {
  offer: "cache-edits",
  isOffered: (capabilities) => supports(capabilities, "cache_edits"),
  isWanted: ({ policy: { clear }, isOn, inventory, withheld }) =>
    withheld.size > 0 ||
    (clear.inCache !== undefined && isOn("clear.cacheEdits") && inventory.size >= clear.inCache.fromResults),
  optionsNow(input) {
    const ids = takesDeletions(input) ? deletableIds(input) : [];
    if (ids.length === 0) return noServerOptions;
    const deletions = ids.map((id) => ({ type: "tool_result", tool_use_id: id }));
    return { params: { cache_edits: { deletions } }, betas: [cacheEditsBeta] };
  },
  namesResults: (input) =>
    takesDeletions(input) &&
    (input.withheld.size > 0 || (input.policy.clear.inCache !== undefined && input.isOn("clear.cacheEdits"))),
};

/**
 * Whether the server takes deletions at all. A session may continue on a server that does not, and that would refuse
 * every request.
 */
const takesDeletions = ({ offers }: Pick<ServerOptionsInput, "offers">): boolean => offers?.has("cache-edits") === true;

/** Deleted results that are in these messages and answered: servers refuse a request that names any other result. */
function deletableIds({ messages, withheld }: Pick<ServerOptionsInput, "messages" | "withheld">): readonly ToolUseId[] {
  if (withheld.size === 0) return [];
  const answered = messages.slice(
    0,
    messages.findLastIndex(({ role }) => role === "assistant"),
  );
  const ids = answered.flatMap(({ content }) =>
    content.flatMap((block) =>
      block.type === "tool_result" && withheld.has(block.tool_use_id) ? [block.tool_use_id] : [],
    ),
  );
  return [...new Set(ids)].slice(0, cacheDeletionsMax);
}

/**
 * Deletes old results in the provider's cache while it is warm. The messages stay as they are, so nothing is written
 * again. On a cold cache there is nothing to delete from, and clearing is better.
 */
export const clearInCache: Layer = {
  name: "clear.cacheEdits",
  switches: ["clear.cacheEdits"],
  inPolicy: ({ clear: { inCache } }) =>
    inCache === undefined
      ? undefined
      : {
          name: "clear in the cache",
          value: `from ${formatCount(inCache.fromResults)} ${plural(inCache.fromResults, "result")}, keep ${inCache.keepResults}`,
        },
  propose(state) {
    if (state.offers?.has("cache-edits") !== true || !state.isOn("clear.cacheEdits")) return undefined;
    if (state.prefixes.isCold(state.moment.at)) return undefined;
    const results = chooseResults(state);
    if (results.length === 0) return undefined;
    const removesTokens = results.reduce((sum, { tokens }) => sum + tokens, 0) * inventoryScale(state);
    const because = `deleted in the cache, where that costs nothing: ${explainRemoval({ removesTokens, of: formatResults(results.length) }, state.moment)}`;
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
  server: serverDeletions,
};

/**
 * Results deleted in a cache that is gone, or at a server that takes no deletions, would be shown and paid for again.
 * Markers replace them. If the cache was lost and the request that found out has written it again, they may be deleted
 * there once more. A server that has not listed its offers is no reason to clear.
 */
function clearUndeleted(state: PipelineState): Candidate | undefined {
  const { withheld, items, count, moment, prefixes, offers } = state;
  const isCold = prefixes.isCold(moment.at);
  const takesNone = offers?.has("cache-edits") === false;
  if (withheld.size === 0 || (!isCold && !takesNone)) return undefined;
  const deleted = formatDeleted(withheld.size);
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

function chooseResults(state: PipelineState): readonly Resident[] {
  const { inCache, byPrice } = state.policy.clear;
  if (inCache === undefined) return [];
  const residents = residentsOldestFirst(state);
  if (residents.length < inCache.fromResults) return [];
  const room = Math.max(0, cacheDeletionsMax - state.withheld.size);
  const old = residents.slice(0, Math.max(0, residents.length - inCache.keepResults)).slice(0, room);
  if (byPrice === undefined) return old;
  const input = { ...state, rule: byPrice };
  return old.filter(
    (resident) => staleSince(resident, byPrice) <= state.inventory.round && isWorthClearing(input, resident),
  );
}

function residentsOldestFirst({ inventory, withheld }: PipelineState): readonly Resident[] {
  const residents: Resident[] = [];
  for (let resident = inventory.oldest; resident !== undefined; resident = resident.after)
    if (!withheld.has(resident.toolUse)) residents.push(resident);
  return residents;
}

/**
 * Drops deletions that the next request does not ask for; their results count as shown again. Either the cache that
 * held them was lost, and the request that found out has written everything again. Or it is unknown whether this server
 * deletes in its cache, and one that does not refuses a request that asks for it; they can be deleted again once the
 * server answers. If the cache is cold, they are replaced by markers instead, whatever the server can do.
 */
async function* forgetDeletions(host: SettleHost): SettleRun {
  const { size } = host.withheld;
  if (size === 0) return;
  const deleted = formatDeleted(size);
  if (host.cache === "lost")
    yield* forget(host, { cause: "cache-break", because: `the cache in which ${deleted} was lost` });
  else if (host.offers === undefined && host.cache === "warm")
    yield* forget(host, {
      cause: "clear.cacheEdits",
      because: `${deleted} in the cache, and the server does not say now whether it can do that: shown again`,
    });
}

const forget = (
  host: SettleHost,
  { cause, because }: { readonly cause: string; readonly because: string },
): SettleRun => host.edit({ draft: { type: "server-edits", deleted: [], forgets: true, because }, cause, because });
