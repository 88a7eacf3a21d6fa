import type { ToolUseId } from "../../../schema/brand.ts";
import { cacheDeletionsMax, cacheEditsBeta } from "../../../schema/wire/cache-edits.ts";
import { nothingAsked, type ServerAsk, type ServerUse, supports } from "../../server/server-use.ts";

/** Deletions by reference: every request names all that are in force. */
export const deletionsByServer: ServerUse = {
  offer: "cache-edits",
  isOffered: (capabilities) => supports(capabilities, "cache_edits"),
  isWanted: ({ policy: { clear }, isOn, inventory, withheld }) =>
    withheld.size > 0 ||
    (clear.inCache !== undefined && isOn("clear.cacheEdits") && inventory.size >= clear.inCache.fromResults),
  asksNow(ask) {
    const ids = takesDeletions(ask) ? deletableIds(ask) : [];
    if (ids.length === 0) return nothingAsked;
    const deletions = ids.map((id) => ({ type: "tool_result", tool_use_id: id }));
    return { params: { cache_edits: { deletions } }, betas: [cacheEditsBeta] };
  },
};

/** Whether results of this conversation are deleted in the cache, now or once there are enough of them. */
export const deletesResults = (ask: ServerAsk): boolean =>
  takesDeletions(ask) &&
  (ask.withheld.size > 0 || (ask.policy.clear.inCache !== undefined && ask.isOn("clear.cacheEdits")));

/** Whether the server takes deletions at all: another one than the session began with may not, and would refuse every request. */
const takesDeletions = ({ offers }: Pick<ServerAsk, "offers">): boolean => offers?.has("cache-edits") === true;

/** What is deleted and stands in these messages, answered: servers refuse a request that names any other result. */
function deletableIds({ messages, withheld }: Pick<ServerAsk, "messages" | "withheld">): readonly ToolUseId[] {
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
