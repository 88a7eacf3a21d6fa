import type { SessionFacts } from "../layers/4-compact/facts/session-facts.ts";
import type { WriteFailure, BlobsDep } from "../ports/blobs.ts";
import type { BlobId, EntryId } from "../schema/brand.ts";
import type { BoundaryMetadata } from "../schema/edit.ts";
import { field, isArray, isObject, type JsonObject, parseJson } from "../schema/json.ts";
import { boundaryText, type Draft, type SummaryBlockDraft, summaryDraft } from "../transcript/draft.ts";
import { survivors } from "../transcript/projection.ts";
import { makeCheckpoint, parseCheckpointJson } from "./checkpoint.ts";
import {
  type AppendEntriesOutcome,
  type EditInput,
  type EditOutcome,
  isMessage,
  type PathMoved,
  type Session,
  type SessionDeps,
} from "./session.ts";
import { checkpointShape } from "../schema/checkpoint.ts";
import type { Entry } from "../schema/entry.ts";
import { workingStateAttachmentType } from "../schema/restored-part.ts";
import { tagWithBoundary } from "../transcript/attachment-text.ts";

export interface BoundaryInput extends Pick<EditInput, "because" | "figures" | "rates" | "planned"> {
  readonly summary: string;
  /**
   * If the provider wrote the summary: its block and the content next to it. Not together with `from`: the provider's
   * block takes effect only at the very front.
   */
  readonly server?: SummaryBlockDraft;
  readonly trigger: "auto" | "manual";
  /** For its receipt; by default the trigger. */
  readonly cause?: string | undefined;
  /** What stays verbatim after the summary, first and last entry included. */
  readonly kept?: { readonly head: EntryId; readonly tail: EntryId } | undefined;
  /** Replaces `kept` if the entries that stay are not contiguous. */
  readonly preserved?: readonly EntryId[];
  /** Summarise from this entry on; what precedes it stays in front. */
  readonly from?: EntryId | undefined;
  readonly metadata?: Readonly<Record<string, unknown>>;
  /**
   * Current working state, placed after what is kept. Its attachment type makes it part of the boundary, so that an undo
   * removes both.
   */
  readonly attachments?: readonly Draft[];
  /** Facts of the path so far: a session that opens at this boundary continues from them and reads nothing before it. */
  readonly facts?: SessionFacts | undefined;
}

/**
 * Writes checkpoint, boundary, summary and attachments in this order: until the summary is on disk, none of it affects
 * the view.
 */
export async function appendBoundary(
  deps: Pick<SessionDeps, "blobs">,
  session: Session,
  input: BoundaryInput,
): Promise<EditOutcome> {
  const checkpoint = await storeCheckpoint(deps, session, input);
  if (checkpoint.kind === "failed") return checkpoint;
  return session.edit(boundaryEdit(input, { leaf: session.leaf ?? undefined, checkpoint: checkpoint.id }));
}

interface BoundaryAtInput extends BoundaryInput {
  /** The last entry that the boundary covers or keeps. */
  readonly leaf: EntryId | null;
}

/** Appends only if the path still ends at `leaf`: a later entry would be neither covered nor kept, and lost from the view. */
export async function appendBoundaryAt(
  deps: Pick<SessionDeps, "blobs">,
  session: Session,
  { leaf, ...input }: BoundaryAtInput,
): Promise<EditOutcome | PathMoved> {
  if (session.leaf !== leaf) return { kind: "moved" };
  const checkpoint = await storeCheckpoint(deps, session, input);
  if (checkpoint.kind === "failed") return checkpoint;
  return session.editAt(leaf, boundaryEdit(input, { leaf: leaf ?? undefined, checkpoint: checkpoint.id }));
}

const boundaryEdit = (input: BoundaryInput, place: BoundaryPlace): EditInput => ({
  drafts: boundaryDrafts(input, place),
  cause: input.cause ?? input.trigger,
  nature: "summarised",
  because: input.because,
  figures: input.figures,
  planned: input.planned,
  rates: input.rates,
});

interface BoundaryPlace {
  /** The entry that the boundary follows. */
  readonly leaf: EntryId | undefined;
  /** Absent only in a preview. */
  readonly checkpoint?: BlobId;
}

/** The boundary, its summary and the attachments after it. */
export function boundaryDrafts(input: BoundaryInput, { leaf, checkpoint }: BoundaryPlace): readonly Draft[] {
  const boundary: Draft = {
    type: "system",
    subtype: "compact_boundary",
    content: boundaryText,
    level: "info",
    isMeta: false,
    parentUuid: null,
    ...(leaf === undefined ? {} : { logicalParentUuid: leaf }),
    compactMetadata: {
      ...input.metadata,
      ...boundaryMetadata(input),
      ...(checkpoint === undefined ? {} : { checkpoint }),
    },
  };
  return [boundary, summaryDraft(input), ...(input.attachments ?? [])];
}

function boundaryMetadata({ trigger, kept, preserved, from }: BoundaryInput): BoundaryMetadata {
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
  const metadata = boundaryMetadata(input);
  const { front, pinned, kept } = survivors(items, pins, metadata);
  // The pivot itself is covered, but without it a reader would not know where the front ends.
  const pivot = items.filter((item) => item.entry === metadata.pivot);
  const carried = new Set([...front, ...pinned, ...kept, ...pivot]);
  const checkpoint = makeCheckpoint({
    fold: session.fold,
    from: session.read.from,
    carried: (item) => carried.has(item),
    facts: input.facts,
    restores: attachmentObjects(input),
  });
  return deps.blobs.put(new TextEncoder().encode(JSON.stringify(checkpoint)));
}

function attachmentObjects({ attachments = [] }: BoundaryInput): readonly JsonObject[] {
  const drafts = parseJson(JSON.stringify(attachments));
  return (isArray(drafts) ? drafts : []).flatMap((draft) => {
    const attachment = isObject(draft) ? field(draft, "attachment") : undefined;
    return isObject(attachment) ? [attachment] : [];
  });
}

/**
 * Appends working state of the newest boundary that a killed process or a full disk kept out of the log. Once a message
 * follows the boundary it is too late: the state would be older than what the model knows.
 */
export async function restoreMissingState(deps: BlobsDep, session: Session): Promise<AppendEntriesOutcome> {
  const boundary = session.fold.projection.boundaries.at(-1);
  const checkpoint = boundary?.edit.type === "boundary" ? boundary.edit.metadata.checkpoint : undefined;
  const { entries } = session.fold.path;
  const at = boundary === undefined ? -1 : entries.findIndex(({ id }) => id === boundary.id);
  const [summary, ...later] = at === -1 ? [] : entries.slice(at + 1);
  if (boundary === undefined || checkpoint === undefined || summary === undefined || later.some(isMessage))
    return nothingAppended;
  const written = later.filter(isRestoredEntry).length;
  const missing = (await readRestores(deps, checkpoint)).slice(written);
  if (missing.length === 0) return nothingAppended;
  const attachments = missing.map((attachment) => tagWithBoundary(attachment, boundary.id));
  return await session.append(...attachments.map((attachment) => ({ type: "attachment", attachment })));
}

const nothingAppended: AppendEntriesOutcome = { kind: "appended", entries: [] };

const isRestoredEntry = (entry: Entry): boolean =>
  entry.kind === "attachment" && entry.attachment["type"] === workingStateAttachmentType;

const restoresShape = checkpointShape.pick({ restores: true });

/** Empty if the blob is gone, or from a version that did not store them. */
async function readRestores({ blobs }: BlobsDep, checkpoint: BlobId): Promise<readonly JsonObject[]> {
  const blob = await blobs.get(checkpoint);
  const read = blob === undefined ? undefined : restoresShape.safeParse(parseCheckpointJson(blob));
  return read?.data?.restores ?? [];
}
