import type { EntryId, ToolUseId } from "../../schema/brand.ts";
import type { Item } from "../../transcript/item.ts";

export interface MemoryClear {
  readonly cleared: ReadonlySet<ToolUseId>;
  /** None that stands before it goes. */
  readonly from: EntryId | "oldest-result";
  /** What is pinned stays. */
  readonly pins: ReadonlySet<EntryId>;
}

/** Attachments that show a memory, by the names that agents in the field give them. */
const isMemory = (attachment: string | undefined): boolean =>
  attachment !== undefined && /memor(?:y|ies)/i.test(attachment);

/**
 * Memories that go along with cleared results: those before the newest of them, and none so far back that it would have
 * more written again than the results themselves.
 */
export function memoriesBetween(items: readonly Item[], { cleared, from, pins }: MemoryClear): readonly EntryId[] {
  const holds = ({ blocks }: Item): boolean =>
    blocks.some((block) => block.type === "tool_result" && cleared.has(block.tool_use_id));
  const first = from === "oldest-result" ? items.findIndex(holds) : items.findIndex(({ entry }) => entry === from);
  const last = items.findLastIndex(holds);
  if (first === -1 || last === -1) return [];
  return items
    .slice(first, last)
    .flatMap(({ entry, attachment }) => (isMemory(attachment) && !pins.has(entry) ? [entry] : []));
}
