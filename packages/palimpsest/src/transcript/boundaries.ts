import type { EntryId } from "../schema/brand.ts";
import type { Boundary } from "../schema/edit.ts";
import type { EditEntry, Entry } from "../schema/entry.ts";
import { itemOf } from "./item.ts";

export interface FoundBoundary {
  /** Place on the path. */
  readonly at: number;
  readonly entry: EditEntry;
  readonly edit: Boundary;
}

/** Newest first: not undone, and followed by its summary. Without the summary a boundary has no effect. */
export function boundariesInForce(path: readonly Entry[], undone: ReadonlySet<EntryId>): FoundBoundary[] {
  const found: FoundBoundary[] = [];
  let next: Entry | undefined;
  for (let at = path.length - 1; at >= 0; at -= 1) {
    const entry = path[at];
    if (entry === undefined) continue;
    if (entry.kind === "edit" && entry.edit.type === "boundary") {
      if (!undone.has(entry.id) && next?.kind === "user" && next.summary) found.push({ at, entry, edit: entry.edit });
      // The summary is this boundary's, in force or not: an earlier one that never got its own can't have it.
      next = entry;
    } else if (itemOf(entry, { at: 0, origin: "ours" }) !== undefined) {
      next = entry;
    }
  }
  return found;
}
