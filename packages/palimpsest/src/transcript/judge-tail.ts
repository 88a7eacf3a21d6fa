import type { BlobId, EntryId, ToolUseId } from "../schema/brand.ts";
import type { EditEntry, Entry } from "../schema/entry.ts";
import { activeBoundaries, type BoundaryOnPath, findUndoneEdits } from "./plan-undo.ts";
import type { LoggedEntry } from "./read-lines.ts";
import { Path } from "./path.ts";

/**
 * Is a log's tail enough to know the view? Yes, if the leaf's chain reaches a boundary in force behind which nothing
 * reaches further back: no undo of an earlier edit, no entry that only what lies before it ties to the path. The
 * boundary's checkpoint says what stood before it. `from` is the first line of the tail that matters.
 */
export type TailVerdict =
  | { readonly kind: "enough"; readonly from: number; readonly checkpoint?: BlobId }
  | { readonly kind: "more" };

export interface TailOptions {
  readonly line: "main" | "side";
  /** Bytes of the log up to here are another tool's: its own, or a copy. */
  readonly foreignUntil: number;
  /** Edits to treat as undone besides those the log says: for planning an undo. */
  readonly undone: ReadonlySet<EntryId>;
  /** Checkpoints that could not be read. */
  readonly unreadable: ReadonlySet<BlobId>;
}

interface TailContext {
  readonly tail: readonly LoggedEntry[];
  readonly path: readonly LoggedEntry[];
  readonly undone: ReadonlySet<EntryId>;
  readonly options: TailOptions;
}

const more: TailVerdict = { kind: "more" };

export function judgeTail(tail: readonly LoggedEntry[], options: TailOptions): TailVerdict {
  if (!tail.some(({ entry }) => entry.kind === "edit" && entry.edit.type === "boundary")) return more;
  const path = tailPath(tail, options.line).logged;
  const entries = path.map(({ entry }) => entry);
  const undone = findUndoneEdits(entries, options.undone);
  const judged = { tail, path, undone, options };
  for (const boundary of activeBoundaries(entries, undone)) {
    if (reachesBehind(judged, boundary.at)) continue;
    const verdict = verdictAt(judged, boundary);
    if (verdict.kind === "enough" && isWholeFrom(judged, verdict.from)) return verdict;
  }
  return more;
}

/** The path as far as a tail shows it: where the whole log's reaches further back, its last part. */
export function tailPath(tail: readonly LoggedEntry[], line: TailOptions["line"]): Path {
  const path = new Path({ line, read: "tail" });
  for (const logged of tail) path.append(logged);
  return path;
}

/** Does an undo behind this place bring back or take away what an edit before it did? */
function reachesBehind({ path, undone, options }: TailContext, from: number): boolean {
  const placeById = new Map(path.map(({ entry }, at) => [entry.id, at]));
  const isBefore = (edit: EntryId): boolean => (placeById.get(edit) ?? -1) < from;
  if ([...options.undone].some(isBefore)) return true;
  return path.slice(from).some(({ entry }) => isUndo(entry) && !undone.has(entry.id) && isBefore(entry.edit.edit));
}

const isUndo = (entry: Entry): entry is EditEntry & { edit: { type: "undo" } } =>
  entry.kind === "edit" && entry.edit.type === "undo";

function verdictAt(judged: TailContext, boundary: BoundaryOnPath): TailVerdict {
  const { checkpoint } = boundary.edit.metadata;
  if (checkpoint === undefined) {
    const { end = Infinity } = judged.path[boundary.at] ?? {};
    return end <= judged.options.foreignUntil ? withoutCheckpoint(judged, boundary) : more;
  }
  if (judged.options.unreadable.has(checkpoint)) return more;
  return { kind: "enough", from: lineIndex(judged, boundary.at), checkpoint };
}

/**
 * Other tools write no checkpoints, and no edits but boundaries and clears. Then what a boundary keeps must lie in the
 * tail from the beginning of its round on, and behind the summary of the boundary before it: what is carried through
 * two of them stands in another order than in the log.
 */
function withoutCheckpoint(judged: TailContext, boundary: BoundaryOnPath): TailVerdict {
  const from = findKeptStart(judged.path, boundary);
  if (from === undefined) return more;
  const inside = judged.path
    .slice(from)
    .every(({ entry }) => entry.kind !== "edit" || foreignEdits.has(entry.edit.type));
  return inside ? { kind: "enough", from: lineIndex(judged, from) } : more;
}

const foreignEdits: ReadonlySet<string> = new Set(["boundary", "clear"]);

/** Place of the first entry that a boundary needs; undefined where that is too far back. */
function findKeptStart(path: readonly LoggedEntry[], { at, edit }: BoundaryOnPath): number | undefined {
  const { direction, preservedMessages, preservedSegment } = edit.metadata;
  if (direction === "from") return undefined;
  const kept =
    preservedMessages?.uuids ??
    (preservedSegment === undefined ? [] : [preservedSegment.headUuid, preservedSegment.tailUuid]);
  const places = kept.map((id) => path.findIndex(({ entry }) => entry.id === id));
  const head = Math.min(at, ...places);
  if (head === at) return at;
  const crosses = path.slice(Math.max(0, head), at).some(({ entry }) => entry.kind === "user" && entry.summary);
  if (head === -1 || crosses) return undefined;
  const round = path.slice(0, head + 1).findLastIndex(({ entry }) => opensRound(entry));
  return round === -1 ? undefined : round;
}

/** Replies and pairs do not reach across what a person said. */
const opensRound = (entry: Entry): boolean =>
  entry.kind === "user" && entry.blocks.length > 0 && entry.blocks.every((block) => block.type !== "tool_result");

/**
 * Read from this line on, does the path stay the same? A late result may hang on a call that lies before; where such a
 * result begins another branch or stands on one, only the call could tell whether it belongs to the path.
 */
function isWholeFrom({ tail, path, options }: TailContext, from: number): boolean {
  const start = tail[from]?.start ?? 0;
  const expected = path.filter((logged) => logged.start >= start);
  const sliced = new Path({ line: options.line, read: "tail" });
  const calls = new Set<ToolUseId>();
  const answers: LoggedEntry[] = [];
  for (const logged of tail.slice(from)) {
    const { entry } = logged;
    if (entry.kind === "assistant")
      for (const block of entry.blocks) if (block.type === "tool_use") calls.add(block.id);
    const isLate =
      entry.kind === "user" &&
      entry.blocks.some((block) => block.type === "tool_result" && !calls.has(block.tool_use_id));
    if (isLate) answers.push(logged);
    if (sliced.append(logged) === "switched" && isLate) return false;
  }
  const found = sliced.logged;
  if (found.length !== expected.length || found.some((logged, at) => logged !== expected[at])) return false;
  const onPath = new Set(found);
  return answers.every((logged) => onPath.has(logged) || logged.entry.sidechain);
}

const lineIndex = ({ tail, path }: TailContext, at: number): number => tail.findIndex((logged) => logged === path[at]);
