import type { TranscriptsDep } from "palimpsest/internal/ports/transcripts";
import type { Entry } from "palimpsest/internal/schema/entry";
import { readLines } from "palimpsest/internal/transcript/lines";
import { promptHeadBytes } from "palimpsest/internal/session/limits";
import type { Session } from "palimpsest/internal/session/session";

/**
 * When a session began: when the first entry of its path was written. A log that was opened at a boundary has a path that
 * begins there, so its head is looked at. Undefined where nothing was written yet, or the head can't be read.
 */
export async function sessionStart(
  { transcripts }: TranscriptsDep,
  { id, fold, read }: Pick<Session, "id" | "fold" | "read">,
): Promise<number | undefined> {
  if (read.from === "beginning") return writtenAt(fold.path.at(0)?.entry);
  const source = await transcripts.openForReading(id);
  if (source === undefined) return undefined;
  try {
    const bytes = await source.read({ start: 0, end: Math.min(promptHeadBytes, source.size) });
    const { logged } = readLines({ bytes, start: 0, last: true });
    return writtenAt(logged.find(({ entry }) => isOfPath(entry))?.entry);
  } finally {
    await source.close();
  }
}

/** The line that says where a copy comes from stands before the conversation. */
const isOfPath = (entry: Entry): boolean =>
  entry.id !== undefined && !entry.sidechain && !(entry.kind === "edit" && entry.edit.type === "origin");

function writtenAt(entry: Entry | undefined): number | undefined {
  const at = entry?.timestamp === undefined ? Number.NaN : Date.parse(entry.timestamp);
  return Number.isNaN(at) ? undefined : at;
}
