import type { BlobsDep } from "../ports/blobs.ts";
import { checkpointShape } from "../schema/checkpoint.ts";
import type { Entry } from "../schema/entry.ts";
import type { JsonObject } from "../schema/json.ts";
import { workingStateAttachment } from "../schema/working-state.ts";
import { ofBoundary } from "../transcript/of-boundary.ts";
import { checkpointJson } from "./checkpoint.ts";
import type { Appended, Session } from "./session.ts";

/**
 * Working state that the newest boundary was to bring and a kill, or a full disk, kept from the log. Once something was
 * said behind the boundary it is too late: what is told then would be older than what the model knows.
 */
export async function putBackMissing(deps: BlobsDep, session: Session): Promise<Appended> {
  const boundary = session.fold.projection.boundaries.at(-1);
  const checkpoint = boundary?.edit.type === "boundary" ? boundary.edit.metadata.checkpoint : undefined;
  const { entries } = session.fold.path;
  const at = boundary === undefined ? -1 : entries.findIndex(({ id }) => id === boundary.id);
  const [summary, ...behind] = at === -1 ? [] : entries.slice(at + 1);
  if (boundary === undefined || checkpoint === undefined || summary === undefined || behind.some(isSaid)) return none;
  const written = behind.filter(isRestored).length;
  const missing = (await restoresIn(deps, checkpoint)).slice(written);
  if (missing.length === 0) return none;
  const attachments = missing.map((attachment) => ofBoundary(attachment, boundary.id));
  return await session.append(...attachments.map((attachment) => ({ type: "attachment", attachment })));
}

const none: Appended = { kind: "appended", entries: [] };

const isSaid = ({ kind }: Entry): boolean => kind === "user" || kind === "assistant";

const isRestored = (entry: Entry): boolean =>
  entry.kind === "attachment" && entry.attachment["type"] === workingStateAttachment;

const restoresShape = checkpointShape.pick({ restores: true });

/** None where the blob is gone, or of a time when it did not hold them. */
async function restoresIn(
  { blobs }: BlobsDep,
  checkpoint: Parameters<BlobsDep["blobs"]["get"]>[0],
): Promise<readonly JsonObject[]> {
  const blob = await blobs.get(checkpoint);
  const read = blob === undefined ? undefined : restoresShape.safeParse(checkpointJson(blob));
  return read?.data?.restores ?? [];
}
