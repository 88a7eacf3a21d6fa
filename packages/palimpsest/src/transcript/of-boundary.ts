import { type EntryId, entryId } from "../schema/brand.ts";
import type { AttachmentEntry, EditEntry } from "../schema/entry.ts";
import { type JsonObject, text } from "../schema/json.ts";
import { workingStateAttachment } from "../schema/working-state.ts";
import { hookContextAttachment } from "./attachment.ts";
import { saidText } from "./person.ts";

/** The field by which an attachment that was written later than its boundary names it. */
const boundaryField = "boundary";

/** An attachment that an undo of the boundary takes back with it, wherever it stands. */
export const ofBoundary = (attachment: JsonObject, boundary: EntryId): JsonObject => ({
  ...attachment,
  [boundaryField]: boundary,
});

/** The boundary that an attachment names; undefined for most, whose place says whether they are of one. */
export function namedBoundary({ attachment }: AttachmentEntry): EntryId | undefined {
  const named = text(attachment, boundaryField);
  return named === undefined ? undefined : entryId(named);
}

/**
 * Whether an attachment right behind a boundary's summary was made for that boundary. Anything can come to stand there: a
 * message that was queued meanwhile, what a resume tells. Ours marks what it writes. Other tools mark nothing: of theirs
 * all is taken for the boundary's but what people say, and what hooks add, which tells of more than the boundary.
 */
export function isOfBoundary(entry: AttachmentEntry, { id, edit }: EditEntry): boolean {
  const named = namedBoundary(entry);
  if (named !== undefined) return named === id;
  const type = text(entry.attachment, "type");
  if (type === workingStateAttachment) return true;
  const isOurs = edit.type === "boundary" && edit.metadata.checkpoint !== undefined;
  return !isOurs && type !== hookContextAttachment && saidText({ ...entry, sidechain: false }) === undefined;
}
