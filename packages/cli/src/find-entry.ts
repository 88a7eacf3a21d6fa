import { type EntryId, entryId, toolUseId } from "palimpsest/internal/schema/brand";
import type { Fold } from "palimpsest/internal/transcript/fold";

/**
 * By the whole id, by that of the call whose result it is, else by a beginning that only one of `among` has. `among`: the
 * entries that may be meant; those of the view where it is absent.
 */
export function findEntry(
  { projection: { items } }: Fold,
  { named, among }: { readonly named: string; readonly among?: readonly EntryId[] },
): EntryId | undefined {
  const entries = among ?? items.map(({ entry }) => entry);
  const answer = items.find(({ blocks }) =>
    blocks.some((block) => block.type === "tool_result" && block.tool_use_id === toolUseId(named)),
  );
  const exact = answer?.entry ?? entryId(named);
  if (entries.includes(exact)) return exact;
  const begun = named.length < prefixCharsMin ? [] : entries.filter((entry) => entry.startsWith(named));
  return begun.length === 1 ? begun[0] : undefined;
}

/** Shorter beginnings are more likely a slip than a name. */
const prefixCharsMin = 4;
