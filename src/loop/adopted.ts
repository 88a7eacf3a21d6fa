import type { TranscriptsDep } from "../ports/transcripts.ts";
import type { BlobId, SessionId } from "../schema/brand.ts";
import { readOrigin, sourceMark } from "./origin.ts";

/** The project's sessions that were made from another tool's file, by the hash of that file. Reads one line of each. */
export async function adoptedSources(deps: TranscriptsDep): Promise<Map<BlobId, SessionId>> {
  const sessionBySource = new Map<BlobId, SessionId>();
  for (const { sessionId } of await deps.transcripts.list()) {
    const source = await sourceHash(deps, sessionId);
    // Newest first: of several copies the one that was worked on last counts.
    if (source !== undefined && !sessionBySource.has(source)) sessionBySource.set(source, sessionId);
  }
  return sessionBySource;
}

async function sourceHash({ transcripts }: TranscriptsDep, id: SessionId): Promise<BlobId | undefined> {
  const source = await transcripts.openForReading(id);
  if (source === undefined) return undefined;
  try {
    const origin = await readOrigin(source);
    return origin === undefined ? undefined : sourceMark(origin).sha256;
  } finally {
    await source.close();
  }
}
