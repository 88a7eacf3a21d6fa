import type { EntryId } from "../../schema/brand.ts";
import type { Item } from "../../transcript/item.ts";
import { roundsOf } from "../2-clear/rounds.ts";

/** By place: may the view be cut in front of this item? A cut parts no call from its result and no reply in two. */
export function cleanBorders(items: readonly Item[]): readonly boolean[] {
  const changes = Array.from({ length: items.length + 1 }, () => 0);
  for (const { first, last } of roundsOf(items)) {
    changes[first + 1] = (changes[first + 1] ?? 0) + 1;
    changes[last + 1] = (changes[last + 1] ?? 0) - 1;
  }
  let open = 0;
  return changes.map((change) => (open += change) === 0);
}

/**
 * The newest entry of which notes that are taken now can say all: what a round has not answered yet is told by the
 * extraction after it. Undefined where no round has ended.
 */
export function coveredNow(items: readonly Item[]): EntryId | undefined {
  const answered = new Set(
    items.flatMap(({ blocks }) => blocks.flatMap((block) => (block.type === "tool_result" ? [block.tool_use_id] : []))),
  );
  const firstOpen = items.findIndex(({ blocks }) =>
    blocks.some((block) => block.type === "tool_use" && !answered.has(block.id)),
  );
  const borders = cleanBorders(items);
  for (let at = firstOpen === -1 ? items.length : firstOpen; at > 0; at -= 1)
    if (borders[at] === true) return items[at - 1]?.entry;
  return undefined;
}
