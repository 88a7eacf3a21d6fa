import type { WriteFailure } from "../ports/blobs.ts";
import type { EntryId } from "../schema/brand.ts";
import type { BoundaryMetadata } from "../schema/edit.ts";
import { boundaryText, type Draft } from "../transcript/draft.ts";
import { survivors } from "../transcript/project.ts";
import { makeCheckpoint } from "./checkpoint.ts";
import type { Edited, Session, SessionDeps } from "./session.ts";

export interface BoundaryInput {
  readonly summary: string;
  readonly trigger: "auto" | "manual";
  /** What stays verbatim behind the summary, first and last entry included. */
  readonly kept?: { readonly head: EntryId; readonly tail: EntryId };
  /** Summarise from this entry on; what stands before it stays in front. */
  readonly from?: EntryId;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** Checkpoint, boundary, summary, in this order: until the summary is on disk, none of it has any effect on the view. */
export async function appendBoundary(
  deps: Pick<SessionDeps, "blobs">,
  session: Session,
  input: BoundaryInput,
): Promise<Edited> {
  const metadata = metadataOf(input);
  const checkpoint = await storeCheckpoint(deps, session, metadata);
  if (checkpoint.kind === "failed") return checkpoint;
  const leaf = session.fold.path.leaf?.id;
  const boundary: Draft = {
    type: "system",
    subtype: "compact_boundary",
    content: boundaryText,
    level: "info",
    isMeta: false,
    parentUuid: null,
    ...(leaf === undefined ? {} : { logicalParentUuid: leaf }),
    compactMetadata: { ...input.metadata, ...metadata, checkpoint: checkpoint.id },
  };
  const summary: Draft = {
    type: "user",
    message: { role: "user", content: input.summary },
    isMeta: true,
    isCompactSummary: true,
    isVisibleInTranscriptOnly: true,
  };
  return session.edit({ drafts: [boundary, summary], cause: input.trigger, nature: "summarised" });
}

function metadataOf({ trigger, kept, from }: BoundaryInput): BoundaryMetadata {
  return {
    trigger,
    ...(kept === undefined ? {} : { preservedSegment: { headUuid: kept.head, tailUuid: kept.tail } }),
    ...(from === undefined ? {} : { direction: "from" as const, pivot: from }),
  };
}

async function storeCheckpoint(
  deps: Pick<SessionDeps, "blobs">,
  session: Session,
  metadata: BoundaryMetadata,
): Promise<{ kind: "stored"; id: string } | WriteFailure> {
  const { items, pins } = session.fold.projection;
  const { front, pinned, kept } = survivors(items, pins, metadata);
  // The pivot itself is covered, but without it a reader would not know where the front ends.
  const pivot = items.filter((item) => item.entry === metadata.pivot);
  const carried = new Set([...front, ...pinned, ...kept, ...pivot]);
  const checkpoint = makeCheckpoint({
    fold: session.fold,
    carried: (item) => carried.has(item),
    breakerFailures: session.restored?.breakerFailures ?? 0,
  });
  return deps.blobs.put(new TextEncoder().encode(JSON.stringify(checkpoint)));
}
