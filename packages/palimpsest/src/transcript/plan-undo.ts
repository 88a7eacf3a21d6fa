import type { EntryId } from "../schema/brand.ts";
import type { EditKind, Boundary } from "../schema/edit.ts";
import { isUndoable } from "../schema/edit-kinds.ts";
import type { EditEntry, Entry } from "../schema/entry.ts";
import { stretchesMax } from "./limits.ts";
import { toItem } from "./item.ts";

/** The edits to undo so that an edit stops counting, newest first. `said`: lines for the user. */
export type UndoPlan =
  | { readonly kind: "plan"; readonly edits: readonly EditEntry[]; readonly said: readonly string[] }
  | {
      readonly kind: "refused";
      readonly why: "nothing-to-undo" | "not-on-path" | "not-an-edit" | "already-undone" | "was-sent";
      readonly text: string;
      /** Set if nothing is left to undo but there is an undo: undoing it brings its edit back. */
      readonly redo?: Redo;
    };

export interface Redo {
  readonly undo: EntryId;
  readonly type: EditKind;
}

export function planUndo(path: readonly Entry[], target?: EntryId): UndoPlan {
  const undone = findUndoneEdits(path);
  const edit = target === undefined ? findNewestUndoable(path, undone) : findEntryByName(path, target);
  if (edit === undefined) {
    return target === undefined
      ? { kind: "refused", why: "nothing-to-undo", ...describeNothingLeft(path, undone) }
      : { kind: "refused", why: "not-on-path", text: `${target} is not on this session's path` };
  }
  if (edit.kind !== "edit" || edit.edit.type === "origin") {
    return { kind: "refused", why: "not-an-edit", text: `${edit.id ?? "the entry"} is not an edit` };
  }
  if (edit.edit.type === "repair") {
    return {
      kind: "refused",
      why: "was-sent",
      text: "a repair is part of a request that was already sent; if the real result arrives, it is added as a new message",
    };
  }
  if (edit.edit.type === "branch") {
    if (edit.edit.from !== undefined) return { kind: "plan", edits: [edit], said: [] };
    return { kind: "refused", why: "not-an-edit", text: `branch ${edit.id} does not say where it came from` };
  }
  if (undone.has(edit.id)) return { kind: "refused", why: "already-undone", text: describeUndone(path, edit.id) };
  return { kind: "plan", ...withCovering(path, edit, undone) };
}

/** Finds by the whole id, or by a prefix that only one edit has. */
function findEntryByName(path: readonly Entry[], target: EntryId): Entry | undefined {
  const exact = path.find((entry) => entry.id === target);
  if (exact !== undefined || target.length < prefixCharsMin) return exact;
  const edits = path.filter((entry) => entry.kind === "edit" && entry.id.startsWith(target));
  return edits.length === 1 ? edits[0] : undefined;
}

/** A shorter prefix is more likely a typing error than an id. */
const prefixCharsMin = 4;

function findNewestUndoable(path: readonly Entry[], undone: ReadonlySet<EntryId>): EditEntry | undefined {
  const boundariesInForce = new Set(activeBoundaries(path, undone).map(({ entry }) => entry));
  return path.findLast(
    (entry): entry is EditEntry =>
      entry.kind === "edit" &&
      entry.edit.type !== "undo" &&
      isUndoable(entry.edit) &&
      !undone.has(entry.id) &&
      (entry.edit.type !== "boundary" || boundariesInForce.has(entry)),
  );
}

/** If newer boundaries cover a boundary, it comes back only if they are undone too, newest first. */
function withCovering(
  path: readonly Entry[],
  edit: EditEntry,
  undone: ReadonlySet<EntryId>,
): { edits: EditEntry[]; said: string[] } {
  const position = path.indexOf(edit);
  const covering = activeBoundaries(path, undone).filter(({ at }) => at > position);
  if (covering.length === 0) return { edits: [edit], said: [] };
  if (edit.edit.type !== "boundary") {
    return {
      edits: [edit],
      said: ["a later boundary covers this edit: the change shows once that boundary is undone"],
    };
  }
  const undoneFirst = covering.map(({ entry }) => entry);
  return {
    edits: [...undoneFirst, edit],
    said: undoneFirst.map((boundary) => `boundary ${boundary.id} covers it and is undone first`),
  };
}

/** A user who undoes twice may want to redo: that means undoing the newest undo in force. */
function describeNothingLeft(path: readonly Entry[], undone: ReadonlySet<EntryId>): { text: string; redo?: Redo } {
  const typeById = new Map(
    path.flatMap((entry) => (entry.kind === "edit" ? [[entry.id, entry.edit.type] as const] : [])),
  );
  for (const entry of path.toReversed()) {
    if (!isUndo(entry) || undone.has(entry.id)) continue;
    const type = typeById.get(entry.edit.edit);
    if (type === undefined || type === "undo") continue;
    const text = `nothing is left to undo; to bring the ${type} back, undo ${entry.id}`;
    return { text, redo: { undo: entry.id, type } };
  }
  return { text: "no edit is in force" };
}

function describeUndone(path: readonly Entry[], edit: EntryId): string {
  const by = path.findLast((entry) => isUndo(entry) && entry.edit.edit === edit);
  return `${edit} is undone already; to bring it back, undo ${by?.id ?? "its undo"}`;
}

/** Edits of the path that no longer count. `also`: edits to treat as undone in addition, for planning. */
export function findUndoneEdits(path: readonly Entry[], also?: ReadonlySet<EntryId>): Set<EntryId> {
  const edits = path.filter((entry) => entry.kind === "edit");
  const links = edits.map(({ id, edit }) => ({ id, takesBack: edit.type === "undo" ? edit.edit : undefined }));
  return undoneAmong(links, also);
}

/** The part of an edit that matters for undos. */
export interface UndoLink {
  readonly id: EntryId;
  /** The edit that it takes back; undefined if it is not an undo. */
  readonly takesBack: EntryId | undefined;
}

/**
 * An undo names an earlier edit, so one pass from the end is enough: an undo counts unless a later undo in force names
 * it. Undoing an undo is a redo.
 */
export function undoneAmong(edits: readonly UndoLink[], also: ReadonlySet<EntryId> = new Set()): Set<EntryId> {
  const undone = new Set(also);
  for (let at = edits.length - 1; at >= 0; at -= 1) {
    const { id, takesBack } = edits[at] ?? {};
    if (id !== undefined && takesBack !== undefined && !undone.has(id)) undone.add(takesBack);
  }
  return undone;
}

export const isUndo = (entry: Entry): entry is EditEntry & { edit: { type: "undo" } } =>
  entry.kind === "edit" && entry.edit.type === "undo";

/** Entries of the path from a position on, and the edits that were undone while they were appended. */
export interface PathStretch {
  readonly from: number;
  readonly undone: ReadonlySet<EntryId>;
}

/**
 * The path after a position as it was appended, split at each undo; the last stretch is what has to be folded now. If
 * there are very many, only the newest are returned, because older counts are hardly needed.
 */
export function stretchesBehind(
  path: readonly Entry[],
  { place, undone }: { readonly place: number; readonly undone: ReadonlySet<EntryId> },
): readonly PathStretch[] {
  const undos = path.flatMap((entry, at) => (at > place && isUndo(entry) ? [at] : []));
  const before = undos.slice(-stretchesMax).map((at) => ({ from: at, undone: findUndoneEdits(path.slice(0, at + 1)) }));
  const [first = path.length] = undos.slice(-stretchesMax);
  const earliest = { from: place + 1, undone: findUndoneEdits(path.slice(0, first)) };
  const last = before.at(-1) ?? earliest;
  const isSame = last.undone.symmetricDifference(undone).size === 0;
  return [earliest, ...before, ...(isSame ? [] : [{ from: path.length, undone }])];
}

export interface BoundaryOnPath {
  /** Position on the path. */
  readonly at: number;
  readonly entry: EditEntry;
  readonly edit: Boundary;
}

/** Boundaries in force, newest first: not undone, and followed by their summary. Without it a boundary has no effect. */
export function activeBoundaries(path: readonly Entry[], undone: ReadonlySet<EntryId>): BoundaryOnPath[] {
  const found: BoundaryOnPath[] = [];
  for (let at = path.length - 1; at >= 0; at -= 1) {
    const entry = path[at];
    if (entry?.kind !== "edit" || entry.edit.type !== "boundary" || undone.has(entry.id)) continue;
    if (isFollowedBySummary(path, at)) found.push({ at, entry, edit: entry.edit });
  }
  return found;
}

/** Whether the next content is a summary, apart from attachments. The summary of a later boundary, in force or not, belongs to that one. */
function isFollowedBySummary(path: readonly Entry[], boundary: number): boolean {
  for (let at = boundary + 1; at < path.length; at += 1) {
    const entry = path[at];
    if (entry === undefined || (entry.kind === "edit" && entry.edit.type === "boundary")) return false;
    if (entry.kind === "attachment") continue;
    if (toItem(entry, { at: 0, origin: "ours" }) !== undefined) return entry.kind === "user" && entry.summary;
  }
  return false;
}
