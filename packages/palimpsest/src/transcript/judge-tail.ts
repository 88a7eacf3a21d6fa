import type { BlobId, EntryId, ToolUseId } from "../schema/brand.ts";
import type { Entry } from "../schema/entry.ts";
import { activeBoundaries, type BoundaryOnPath, findUndoneEdits, isUndo } from "./plan-undo.ts";
import type { LoggedEntry } from "./read-lines.ts";
import { Path } from "./path.ts";

/**
 * Whether a log's tail is enough to know the view. It is, if the leaf's chain reaches a boundary in force and nothing
 * after it refers further back: no undo of an earlier edit, no entry whose place on the path depends on earlier lines.
 * The boundary's checkpoint holds the state before it. `from` is the first line of the tail that matters.
 */
export type TailVerdict =
  | { readonly kind: "enough"; readonly from: number; readonly checkpoint?: BlobId }
  | { readonly kind: "more" };

export interface TailOptions {
  readonly line: "main" | "side";
  /** Bytes of the log up to here were written by another program, directly or as a copy. */
  readonly foreignUntil: number;
  /** Edits to treat as undone in addition to those that the log undoes: for planning an undo. */
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
  const context = { tail, path, undone, options };
  for (const boundary of activeBoundaries(entries, undone)) {
    if (hasUndoBeyond(context, boundary.at)) continue;
    const verdict = verdictAt(context, boundary);
    if (verdict.kind === "enough" && isWholeFrom(context, verdict.from)) return verdict;
  }
  return more;
}

/** The path as far as a tail shows it: the last part of the path, if that begins before the tail. */
export function tailPath(tail: readonly LoggedEntry[], line: TailOptions["line"]): Path {
  const path = new Path({ line, read: "tail" });
  for (const logged of tail) path.append(logged);
  return path;
}

/** Whether an undo after this position concerns an edit before it. */
function hasUndoBeyond({ path, undone, options }: TailContext, from: number): boolean {
  const edits = new Set(options.undone);
  for (const { entry } of path.slice(from)) if (isUndo(entry) && !undone.has(entry.id)) edits.add(entry.edit.edit);
  if (edits.size === 0) return false;
  for (const { entry } of path.slice(from)) if (entry.id !== undefined) edits.delete(entry.id);
  return edits.size > 0;
}

function verdictAt(context: TailContext, boundary: BoundaryOnPath): TailVerdict {
  const { checkpoint } = boundary.edit.metadata;
  if (checkpoint === undefined) {
    const { end = Infinity } = context.path[boundary.at] ?? {};
    return end <= context.options.foreignUntil ? verdictWithoutCheckpoint(context, boundary) : more;
  }
  if (context.options.unreadable.has(checkpoint)) return more;
  return { kind: "enough", from: lineIndex(context, boundary.at), checkpoint };
}

/**
 * Other programs write no checkpoints, and no edits except boundaries and clears. Then everything that a boundary keeps
 * must lie in the tail, from the beginning of its round on, and after the summary of the previous boundary: messages
 * that two boundaries kept are in another order than in the log.
 */
function verdictWithoutCheckpoint(context: TailContext, boundary: BoundaryOnPath): TailVerdict {
  const from = findKeptStart(context.path, boundary);
  if (from === undefined) return more;
  const hasOnlyForeignEdits = context.path
    .slice(from)
    .every(({ entry }) => entry.kind !== "edit" || foreignEdits.has(entry.edit.type));
  return hasOnlyForeignEdits ? { kind: "enough", from: lineIndex(context, from) } : more;
}

const foreignEdits: ReadonlySet<string> = new Set(["boundary", "clear"]);

/** Position of the first entry that a boundary needs; undefined if that is too far back. */
function findKeptStart(path: readonly LoggedEntry[], { at, edit }: BoundaryOnPath): number | undefined {
  const { direction, preservedMessages, preservedSegment } = edit.metadata;
  if (direction === "from") return undefined;
  const kept =
    preservedMessages?.uuids ??
    (preservedSegment === undefined ? [] : [preservedSegment.headUuid, preservedSegment.tailUuid]);
  const positions = kept.map((id) => path.findIndex(({ entry }) => entry.id === id));
  const head = Math.min(at, ...positions);
  if (head === at) return at;
  const crosses = path.slice(Math.max(0, head), at).some(({ entry }) => entry.kind === "user" && entry.summary);
  if (head === -1 || crosses) return undefined;
  const round = path.slice(0, head + 1).findLastIndex(({ entry }) => opensRound(entry));
  return round === -1 ? undefined : round;
}

/** Replies and call-result pairs never extend across a user's message. */
const opensRound = (entry: Entry): boolean =>
  entry.kind === "user" && entry.blocks.length > 0 && entry.blocks.every((block) => block.type !== "tool_result");

/**
 * Whether the path stays the same if it is read from this line on. A late result may belong to an earlier call; if such
 * a result begins another branch or is on one, only the call could tell whether it belongs to the path.
 */
function isWholeFrom({ tail, path, options }: TailContext, from: number): boolean {
  const start = tail[from]?.start ?? 0;
  const expected = path.filter((logged) => logged.start >= start);
  const sliced = new Path({ line: options.line, read: "tail" });
  const calls = new Set<ToolUseId>();
  const lateResults: LoggedEntry[] = [];
  for (const logged of tail.slice(from)) {
    const { entry } = logged;
    if (entry.kind === "assistant")
      for (const block of entry.blocks) if (block.type === "tool_use") calls.add(block.id);
    const isLate =
      entry.kind === "user" &&
      entry.blocks.some((block) => block.type === "tool_result" && !calls.has(block.tool_use_id));
    if (isLate) lateResults.push(logged);
    if (sliced.append(logged) === "switched" && isLate) return false;
  }
  const found = sliced.logged;
  if (found.length !== expected.length || found.some((logged, at) => logged !== expected[at])) return false;
  const onPath = new Set(found);
  return lateResults.every((logged) => onPath.has(logged) || logged.entry.sidechain);
}

const lineIndex = ({ tail, path }: TailContext, at: number): number => tail.findIndex((logged) => logged === path[at]);
