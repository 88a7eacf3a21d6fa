import type { EntryId } from "../schema/brand.ts";
import type { Entry } from "../schema/entry.ts";

/**
 * Edits of the path that no longer count. An undo names something earlier, so one pass from the end settles all: an
 * undo counts unless a later one that counts names it; undoing an undo is the redo. `also`: edits to treat as undone
 * besides, for planning.
 */
export function undoneEdits(path: readonly Entry[], also: ReadonlySet<EntryId> = new Set()): Set<EntryId> {
  const undone = new Set(also);
  for (const entry of path.toReversed()) {
    if (entry.kind === "edit" && entry.edit.type === "undo" && !undone.has(entry.id)) undone.add(entry.edit.edit);
  }
  return undone;
}
