import { cacheDeletionsMax } from "palimpsest/internal/schema/wire/cache-edits";
import { invalid, type Refusal } from "../refusal.ts";
import type { CheckInput, Rule } from "../validate/check-input.ts";

/** What may be deleted in the cache: results in the messages that the model has answered, each once. */
export const checkCacheEdits: Rule = ({ request }) => {
  const { cache_edits: edits, context_management: management } = request;
  if (edits === null || edits === undefined) return undefined;
  if (management?.edits?.some(({ type }) => type === "clear_tool_uses_20250919") === true)
    return invalid("`cache_edits` cannot be combined with `clear_tool_uses_20250919`", "cache_edits");
  const { deletions } = edits;
  if (deletions.length > cacheDeletionsMax)
    return invalid(
      `List should have at most ${cacheDeletionsMax} items after validation, not ${deletions.length}`,
      "cache_edits.deletions",
    );
  return checkDeletions(
    deletions.map(({ tool_use_id: id }) => id),
    request,
  );
};

function checkDeletions(ids: readonly string[], request: CheckInput["request"]): Refusal | undefined {
  if (ids.length === 0) return undefined;
  const placeById = resultPlaces(request);
  const placeByNamed = new Map<string, number>();
  for (const [at, id] of ids.entries()) {
    const path = `cache_edits.deletions.${at}.tool_use_id`;
    const first = placeByNamed.get(id);
    if (first !== undefined) return invalid(`\`${id}\` is deleted already, by deletion ${first}`, path);
    placeByNamed.set(id, at);
    const place = placeById.get(id);
    if (place === undefined) return invalid(`there is no \`tool_result\` block with the id \`${id}\``, path);
    if (place === "unanswered")
      return invalid(`the \`tool_result\` of \`${id}\` cannot be deleted before it is answered`, path);
  }
  return undefined;
}

function resultPlaces({ messages }: CheckInput["request"]): ReadonlyMap<string, "answered" | "unanswered"> {
  const latestReply = messages.findLastIndex(({ role }) => role === "assistant");
  const placeById = new Map<string, "answered" | "unanswered">();
  for (const [at, { content }] of messages.entries()) {
    if (typeof content === "string") continue;
    for (const block of content)
      if (block.type === "tool_result") placeById.set(block.tool_use_id, at < latestReply ? "answered" : "unanswered");
  }
  return placeById;
}
