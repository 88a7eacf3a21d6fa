import type { EntryId } from "../schema/brand.ts";
import type { EditKind } from "../schema/edit.ts";
import { isUndoable } from "../schema/edit-kinds.ts";
import type { EditEntry, Entry } from "../schema/entry.ts";
import { boundariesInForce } from "./boundaries.ts";
import { undoneEdits } from "./undone.ts";

/** What to append so that an edit stops counting: undos in order, newest edit first, and what a person should be told. */
export type UndoPlan =
  | { readonly kind: "plan"; readonly edits: readonly EditEntry[]; readonly said: readonly string[] }
  | {
      readonly kind: "refused";
      readonly why: "nothing-to-undo" | "not-on-path" | "not-an-edit" | "already-undone" | "was-sent";
      readonly text: string;
      /** Where the newest undo took something back and nothing else is left: undoing this undo brings it again. */
      readonly redo?: Redo;
    };

export interface Redo {
  readonly undo: EntryId;
  readonly type: EditKind;
}

export function planUndo(path: readonly Entry[], target?: EntryId): UndoPlan {
  const undone = undoneEdits(path);
  const edit = target === undefined ? newest(path, undone) : named(path, target);
  if (edit === undefined) {
    return target === undefined
      ? { kind: "refused", why: "nothing-to-undo", ...nothingLeft(path, undone) }
      : { kind: "refused", why: "not-on-path", text: `${target} is not on this session's path` };
  }
  if (edit.kind !== "edit" || edit.edit.type === "origin") {
    return { kind: "refused", why: "not-an-edit", text: `${edit.id ?? "the entry"} is not an edit` };
  }
  if (edit.edit.type === "repair") {
    return {
      kind: "refused",
      why: "was-sent",
      text: "a repair stands in a request that was sent; the real result, if it comes, is said as a new message",
    };
  }
  if (edit.edit.type === "branch") {
    if (edit.edit.from !== undefined) return { kind: "plan", edits: [edit], said: [] };
    return { kind: "refused", why: "not-an-edit", text: `branch ${edit.id} does not say where it came from` };
  }
  if (undone.has(edit.id)) return { kind: "refused", why: "already-undone", text: alreadyUndone(path, edit.id) };
  return { kind: "plan", ...withCovering(path, edit, undone) };
}

/** The whole id, else a beginning that only one edit has. */
function named(path: readonly Entry[], target: EntryId): Entry | undefined {
  const exact = path.find((entry) => entry.id === target);
  if (exact !== undefined || target.length < prefixCharsMin) return exact;
  const edits = path.filter((entry) => entry.kind === "edit" && entry.id.startsWith(target));
  return edits.length === 1 ? edits[0] : undefined;
}

/** Shorter beginnings are more likely a slip than a name. */
const prefixCharsMin = 4;

function newest(path: readonly Entry[], undone: ReadonlySet<EntryId>): EditEntry | undefined {
  const inForce = new Set(boundariesInForce(path, undone).map(({ entry }) => entry));
  return path.findLast(
    (entry): entry is EditEntry =>
      entry.kind === "edit" &&
      entry.edit.type !== "undo" &&
      isUndoable(entry.edit) &&
      !undone.has(entry.id) &&
      (entry.edit.type !== "boundary" || inForce.has(entry)),
  );
}

/** A boundary that a newer one covers comes back only when the newer ones are undone too, newest first. */
function withCovering(
  path: readonly Entry[],
  edit: EditEntry,
  undone: ReadonlySet<EntryId>,
): { edits: EditEntry[]; said: string[] } {
  const place = path.indexOf(edit);
  const covering = boundariesInForce(path, undone).filter(({ at }) => at > place);
  if (covering.length === 0) return { edits: [edit], said: [] };
  if (edit.edit.type !== "boundary") {
    return {
      edits: [edit],
      said: ["a later boundary covers this edit: the change shows once that boundary is undone"],
    };
  }
  const first = covering.map(({ entry }) => entry);
  return {
    edits: [...first, edit],
    said: first.map((boundary) => `boundary ${boundary.id} covers it and is undone first`),
  };
}

/** Who undoes twice may mean to go back: the newest undo that counts is how. */
function nothingLeft(path: readonly Entry[], undone: ReadonlySet<EntryId>): { text: string; redo?: Redo } {
  const typeById = new Map(
    path.flatMap((entry) => (entry.kind === "edit" ? [[entry.id, entry.edit.type] as const] : [])),
  );
  for (const entry of path.toReversed()) {
    if (entry.kind !== "edit" || entry.edit.type !== "undo" || undone.has(entry.id)) continue;
    const type = typeById.get(entry.edit.edit);
    if (type === undefined || type === "undo") continue;
    const text = `nothing is left to undo; to bring the ${type} back, undo ${entry.id}`;
    return { text, redo: { undo: entry.id, type } };
  }
  return { text: "no edit is in force" };
}

function alreadyUndone(path: readonly Entry[], edit: EntryId): string {
  const by = path.findLast((entry) => entry.kind === "edit" && entry.edit.type === "undo" && entry.edit.edit === edit);
  return `${edit} is undone already; to bring it back, undo ${by?.id ?? "its undo"}`;
}
