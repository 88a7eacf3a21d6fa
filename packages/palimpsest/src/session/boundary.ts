import type { SessionFacts } from "../layers/4-compact/facts.ts";
import type { WriteFailure } from "../ports/blobs.ts";
import type { BlobId, EntryId } from "../schema/brand.ts";
import type { BoundaryMetadata } from "../schema/edit.ts";
import { field, isArray, isObject, type JsonObject, parseJson } from "../schema/json.ts";
import { boundaryText, type Draft, type SummaryBlockDraft, summaryDraft } from "../transcript/draft.ts";
import { survivors } from "../transcript/project.ts";
import { makeCheckpoint } from "./checkpoint.ts";
import type { Edited, EditInput, Moved, Session, SessionDeps } from "./session.ts";

export interface BoundaryInput extends Pick<EditInput, "because" | "rates" | "planned"> {
  readonly summary: string;
  /** Where the provider wrote it: its block, and what stands beside it. Not with `from`: it counts only in front of all. */
  readonly server?: SummaryBlockDraft;
  readonly trigger: "auto" | "manual";
  /** What stays verbatim behind the summary, first and last entry included. */
  readonly kept?: { readonly head: EntryId; readonly tail: EntryId };
  /** In place of `kept`, where what stays is not one run. */
  readonly preserved?: readonly EntryId[];
  /** Summarise from this entry on; what stands before it stays in front. */
  readonly from?: EntryId;
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Put behind what is kept: working state as it is now. By that type they are the boundary's, and an undo takes them back with it. */
  readonly attachments?: readonly Draft[];
  /** Of the path up to here: who opens the session at this boundary goes on from them, and reads nothing before it. */
  readonly facts?: SessionFacts | undefined;
}

/** Checkpoint, boundary, summary, attachments, in this order: until the summary is on disk, none of it has any effect on the view. */
export async function appendBoundary(
  deps: Pick<SessionDeps, "blobs">,
  session: Session,
  input: BoundaryInput,
): Promise<Edited> {
  const checkpoint = await storeCheckpoint(deps, session, input);
  if (checkpoint.kind === "failed") return checkpoint;
  return session.edit(editOf(input, { leaf: session.leaf ?? undefined, checkpoint: checkpoint.id }));
}

export interface BoundaryAt extends BoundaryInput {
  /** The newest entry that the boundary covers or keeps. */
  readonly leaf: EntryId | null;
}

/** Where the path still ends at that entry: what came later would be neither covered nor kept, and gone from the view. */
export async function appendBoundaryAt(
  deps: Pick<SessionDeps, "blobs">,
  session: Session,
  { leaf, ...input }: BoundaryAt,
): Promise<Edited | Moved> {
  if (session.leaf !== leaf) return { kind: "moved" };
  const checkpoint = await storeCheckpoint(deps, session, input);
  if (checkpoint.kind === "failed") return checkpoint;
  return session.editAt(leaf, editOf(input, { leaf: leaf ?? undefined, checkpoint: checkpoint.id }));
}

const editOf = (input: BoundaryInput, place: BoundaryPlace): EditInput => ({
  drafts: boundaryDrafts(input, place),
  cause: input.trigger,
  nature: "summarised",
  because: input.because,
  planned: input.planned,
  ...(input.rates === undefined ? {} : { rates: input.rates }),
});

export interface BoundaryPlace {
  /** The entry that the boundary follows. */
  readonly leaf: EntryId | undefined;
  /** Absent only where nothing will be written. */
  readonly checkpoint?: BlobId;
}

/** The boundary, its summary and what is put back. */
export function boundaryDrafts(input: BoundaryInput, { leaf, checkpoint }: BoundaryPlace): readonly Draft[] {
  const boundary: Draft = {
    type: "system",
    subtype: "compact_boundary",
    content: boundaryText,
    level: "info",
    isMeta: false,
    parentUuid: null,
    ...(leaf === undefined ? {} : { logicalParentUuid: leaf }),
    compactMetadata: { ...input.metadata, ...metadataOf(input), ...(checkpoint === undefined ? {} : { checkpoint }) },
  };
  return [boundary, summaryDraft(input), ...(input.attachments ?? [])];
}

function metadataOf({ trigger, kept, preserved, from }: BoundaryInput): BoundaryMetadata {
  return {
    trigger,
    ...(kept === undefined ? {} : { preservedSegment: { headUuid: kept.head, tailUuid: kept.tail } }),
    ...(preserved === undefined ? {} : { preservedMessages: { uuids: [...preserved] } }),
    ...(from === undefined ? {} : { direction: "from" as const, pivot: from }),
  };
}

async function storeCheckpoint(
  deps: Pick<SessionDeps, "blobs">,
  session: Session,
  input: BoundaryInput,
): Promise<{ kind: "stored"; id: BlobId } | WriteFailure> {
  const { items, pins } = session.fold.projection;
  const metadata = metadataOf(input);
  const { front, pinned, kept } = survivors(items, pins, metadata);
  // The pivot itself is covered, but without it a reader would not know where the front ends.
  const pivot = items.filter((item) => item.entry === metadata.pivot);
  const carried = new Set([...front, ...pinned, ...kept, ...pivot]);
  const checkpoint = makeCheckpoint({
    fold: session.fold,
    from: session.read.from,
    carried: (item) => carried.has(item),
    facts: input.facts,
    restores: attachmentsOf(input),
  });
  return deps.blobs.put(new TextEncoder().encode(JSON.stringify(checkpoint)));
}

function attachmentsOf({ attachments = [] }: BoundaryInput): readonly JsonObject[] {
  const drafts = parseJson(JSON.stringify(attachments));
  return (isArray(drafts) ? drafts : []).flatMap((draft) => {
    const attachment = isObject(draft) ? field(draft, "attachment") : undefined;
    return isObject(attachment) ? [attachment] : [];
  });
}
