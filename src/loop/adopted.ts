import type { TranscriptsDep } from "../ports/transcripts.ts";
import type { BlobId, SessionId } from "../schema/brand.ts";
import { readEntry } from "../schema/entry.ts";
import { parseJson } from "../schema/json.ts";
import { originLineBytesMax } from "./limits.ts";

/** The project's sessions that were made from another tool's file, by the hash of that file. Reads one line of each. */
export async function adoptedSources(deps: TranscriptsDep): Promise<Map<BlobId, SessionId>> {
  const sessionBySource = new Map<BlobId, SessionId>();
  for (const { sessionId } of await deps.transcripts.list()) {
    const source = await sourceHash(deps, sessionId);
    if (source !== undefined) sessionBySource.set(source, sessionId);
  }
  return sessionBySource;
}

async function sourceHash({ transcripts }: TranscriptsDep, id: SessionId): Promise<BlobId | undefined> {
  const source = await transcripts.openForReading(id);
  if (source === undefined) return undefined;
  try {
    const head = new TextDecoder().decode(
      await source.read({ start: 0, end: Math.min(source.size, originLineBytesMax) }),
    );
    return hashIn(head.slice(0, Math.max(0, head.indexOf("\n"))));
  } finally {
    await source.close();
  }
}

function hashIn(line: string): BlobId | undefined {
  if (!line.includes('"origin"')) return undefined;
  try {
    const reading = readEntry(parseJson(line));
    const edit = reading.kind === "entry" && reading.entry.kind === "edit" ? reading.entry.edit : undefined;
    return edit?.type === "origin" ? (edit.translatedFrom?.sha256 ?? edit.sha256) : undefined;
  } catch {
    return undefined;
  }
}
