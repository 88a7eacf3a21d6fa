import type { BlobId, EntryId } from "../schema/brand.ts";
import type { Boundary } from "../schema/edit.ts";
import type { Entry } from "../schema/entry.ts";
import { itemOf } from "./item.ts";
import type { Logged } from "./lines.ts";
import { Path } from "./path.ts";
import { undoneEdits } from "./undone.ts";

/**
 * Is a log's tail enough to know the view? Yes, if the leaf's chain reaches a boundary that counts, and what that
 * boundary keeps is in the tail too or in its checkpoint. `from` is the first line of the tail that matters.
 */
export type TailVerdict =
  | { readonly kind: "enough"; readonly from: number; readonly checkpoint?: BlobId }
  | { readonly kind: "more" };

export interface TailOptions {
  readonly line: "main" | "side";
  /** Edits to treat as undone besides those the log says: for planning an undo. */
  readonly undone: ReadonlySet<EntryId>;
  /** Checkpoints that could not be read. */
  readonly unreadable: ReadonlySet<BlobId>;
}

const more: TailVerdict = { kind: "more" };

export function judgeTail(tail: readonly Logged[], options: TailOptions): TailVerdict {
  if (!tail.some(({ entry }) => entry.kind === "edit" && entry.edit.type === "boundary")) return more;
  const path = new Path({ line: options.line, read: "tail" });
  for (const logged of tail) path.append(logged);
  const undone = undoneEdits(path.entries).union(options.undone);
  if ([...undone].some((edit) => !path.has(edit) && !options.undone.has(edit))) return more;
  const boundary = lastBoundary(path.entries, undone);
  if (boundary === undefined) return more;
  const { checkpoint } = boundary.edit.metadata;
  if (checkpoint !== undefined && !options.unreadable.has(checkpoint)) {
    return { kind: "enough", from: indexOf(tail, boundary.entry), checkpoint };
  }
  return withoutCheckpoint(tail, path, boundary);
}

interface FoundBoundary {
  readonly entry: Entry;
  readonly edit: Boundary;
}

/** The newest boundary in force: not undone, and followed by its summary. */
function lastBoundary(path: readonly Entry[], undone: ReadonlySet<EntryId>): FoundBoundary | undefined {
  let next: Entry | undefined;
  for (const entry of path.toReversed()) {
    if (entry.kind === "edit" && entry.edit.type === "boundary" && !undone.has(entry.id) && next?.kind === "user" && next.summary) {
      return { entry, edit: entry.edit };
    }
    if (itemOf(entry, { at: 0, origin: "ours" }) !== undefined) next = entry;
  }
  return undefined;
}

/** Without a checkpoint, nothing earlier may matter: no front that stays, and the kept segment lies in the tail. */
function withoutCheckpoint(tail: readonly Logged[], path: Path, boundary: FoundBoundary): TailVerdict {
  const { metadata } = boundary.edit;
  if (metadata.direction === "from") return more;
  const segment = metadata.preservedSegment;
  const kept = metadata.preservedMessages?.uuids ?? (segment === undefined ? [] : [segment.headUuid, segment.tailUuid]);
  const places = kept.map((id) => (path.has(id) ? tail.findIndex(({ entry }) => entry.id === id) : -1));
  if (places.includes(-1)) return more;
  return { kind: "enough", from: Math.min(indexOf(tail, boundary.entry), ...places) };
}

const indexOf = (tail: readonly Logged[], entry: Entry): number => tail.findIndex((logged) => logged.entry === entry);
