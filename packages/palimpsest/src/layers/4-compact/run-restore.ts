import type { BlobsDep } from "../../ports/blobs.ts";
import type { ReadFiles } from "../../ports/tool.ts";
import type { RestoreRequest, WorkingStateDep, WorkingStatePart } from "../../ports/working-state.ts";
import type { EntryId } from "../../schema/brand.ts";
import type { RestoredPiece } from "../../schema/restored-part.ts";
import { type NamedPart, planRestoration, type Restoration, type RestoreInput } from "./plan-restoration.ts";

interface RestoreDeps extends WorkingStateDep, BlobsDep, Pick<RestoreInput, "count"> {
  /** Name of the tool with which the model gets a stored text back. Undefined if there is none, and only users can. */
  readonly recallTool: string | undefined;
}

/**
 * Asks all parts concurrently for their current state. Call it when the summary is ready, right before the boundary is
 * written, so that a step that the compaction waited for is included. Must not reject.
 */
export async function restoreState(deps: RestoreDeps, request: RestoreRequest): Promise<Restoration> {
  const snapshots = await Promise.all(deps.workingState.parts.map((part) => takeSnapshot(part, request)));
  const parts = snapshots.flat();
  const plan = { tokensMax: request.budgets.tokensMax, count: deps.count };
  const first = planRestoration({ ...plan, parts });
  if (first.withoutHandle.length === 0) return first;
  const handles = await storeHandles(
    deps,
    parts.flatMap(({ part }) =>
      part.kind === "state" ? part.pieces.filter(({ handle }) => handle === undefined) : [],
    ),
  );
  return planRestoration({ ...plan, parts: parts.map((part) => withHandles(part, handles)) });
}

async function takeSnapshot(part: WorkingStatePart, request: RestoreRequest): Promise<readonly NamedPart[]> {
  try {
    const state = await part.snapshot(request);
    return state === undefined ? [] : [{ name: part.name, part: state }];
  } catch (error) {
    // A bug in one part must not prevent the compaction.
    return [{ name: part.name, part: { kind: "failed", message: String(error) } }];
  }
}

async function storeHandles(
  { blobs, recallTool }: RestoreDeps,
  pieces: readonly RestoredPiece[],
): Promise<ReadonlyMap<RestoredPiece, string>> {
  const handles = await Promise.all(
    pieces.map(async (piece) => {
      const put = await blobs.put(new TextEncoder().encode(piece.text ?? ""));
      const by = recallTool ?? "stored as";
      const handle = put.kind === "failed" ? `it could not be stored: ${put.message}` : `${by} ${put.id}`;
      return [piece, handle] as const;
    }),
  );
  return new Map(handles);
}

function withHandles({ name, part }: NamedPart, handles: ReadonlyMap<RestoredPiece, string>): NamedPart {
  if (part.kind === "failed") return { name, part };
  const pieces = part.pieces.map((piece) => {
    const handle = handles.get(piece);
    return handle === undefined ? piece : { ...piece, handle };
  });
  return { name, part: { ...part, pieces } };
}

interface RestoredReads {
  readonly restoration: Restoration;
  /** Entries of the attachments that were written, in their order. */
  readonly entries: readonly EntryId[];
  readonly isKept: RestoreRequest["isKept"];
}

/**
 * After a boundary a file counts as read if the view shows it: restored files, and those that a kept message still
 * shows. Any other file has to be read again before it is changed, as after reopening the session.
 */
export function registerRestored(files: ReadFiles, { restoration, entries, isKept }: RestoredReads): void {
  for (const [path, { shownBy }] of Array.from(files.entries())) if (!isKept(shownBy)) files.delete(path);
  // The newest comes first in the list. It is set last, so that it stays the newest.
  for (const [at, { file }] of [...restoration.attachments.entries()].toReversed()) {
    const shownBy = entries[at];
    if (file === undefined || shownBy === undefined) continue;
    const { path, ...read } = file;
    files.set(path, { ...read, shownBy });
  }
}
