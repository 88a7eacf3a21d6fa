import type { EntryId } from "../schema/brand.ts";
import type { Entry } from "../schema/entry.ts";
import { stretchesMax } from "./limits.ts";

/**
 * Edits of the path that no longer count. `also`: edits to treat as undone besides, for planning.
 */
export function undoneEdits(path: readonly Entry[], also?: ReadonlySet<EntryId>): Set<EntryId> {
  const edits = path.flatMap((entry) =>
    entry.kind === "edit"
      ? [{ id: entry.id, takesBack: entry.edit.type === "undo" ? entry.edit.edit : undefined }]
      : [],
  );
  return undoneAmong(edits, also);
}

/** An edit, as far as undos go. */
export interface UndoLink {
  readonly id: EntryId;
  /** The edit that it takes back; undefined if it is no undo. */
  readonly takesBack: EntryId | undefined;
}

/**
 * An undo names something earlier, so one pass from the end settles all: an undo counts unless a later one that counts
 * names it; undoing an undo is the redo.
 */
export function undoneAmong(edits: readonly UndoLink[], also: ReadonlySet<EntryId> = new Set()): Set<EntryId> {
  const undone = new Set(also);
  for (let at = edits.length - 1; at >= 0; at -= 1) {
    const { id, takesBack } = edits[at] ?? {};
    if (id !== undefined && takesBack !== undefined && !undone.has(id)) undone.add(takesBack);
  }
  return undone;
}

/** Entries of the path from a place on, and the edits that were undone while they were appended. */
export interface Stretch {
  readonly from: number;
  readonly undone: ReadonlySet<EntryId>;
}

/**
 * The path behind a place as it was appended, from undo to undo; the last one is what is to be folded now. Of very many
 * the newest: what was counted longer ago is hardly asked for.
 */
export function stretchesBehind(
  path: readonly Entry[],
  { place, undone }: { readonly place: number; readonly undone: ReadonlySet<EntryId> },
): readonly Stretch[] {
  const undos = path.flatMap((entry, at) =>
    at > place && entry.kind === "edit" && entry.edit.type === "undo" ? [at] : [],
  );
  const before = undos.slice(-stretchesMax).map((at) => ({ from: at, undone: undoneEdits(path.slice(0, at + 1)) }));
  const [first = path.length] = undos.slice(-stretchesMax);
  const earliest = { from: place + 1, undone: undoneEdits(path.slice(0, first)) };
  const last = before.at(-1) ?? earliest;
  const isSame = last.undone.symmetricDifference(undone).size === 0;
  return [earliest, ...before, ...(isSame ? [] : [{ from: path.length, undone }])];
}
