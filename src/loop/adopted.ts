import type { TranscriptsDep } from "../ports/transcripts.ts";
import type { BlobId, SessionId } from "../schema/brand.ts";
import { readOrigin, sourceMark } from "./origin.ts";

/** The project's sessions that were made from another tool's file, by the hash of that file. Reads one line of each. */
export async function adoptedSources(deps: TranscriptsDep): Promise<Map<BlobId, SessionId>> {
  const sessionBySource = new Map<BlobId, SessionId>();
  for (const { sessionId } of await deps.transcripts.list()) {
    const made = await madeFrom(deps, sessionId);
    // Newest first: of several copies the one that was worked on last counts.
    if (made.kind === "source" && !sessionBySource.has(made.sha256)) sessionBySource.set(made.sha256, sessionId);
  }
  return sessionBySource;
}

/** `unknown`: its first line names no source, because there never was one or because it is damaged. */
export type MadeFrom =
  | { readonly kind: "source"; readonly sha256: BlobId }
  | { readonly kind: "unknown" }
  | { readonly kind: "missing" };

export async function madeFrom({ transcripts }: TranscriptsDep, id: SessionId): Promise<MadeFrom> {
  const source = await transcripts.openForReading(id);
  if (source === undefined) return { kind: "missing" };
  try {
    const origin = await readOrigin(source);
    return origin === undefined ? { kind: "unknown" } : { kind: "source", sha256: sourceMark(origin).sha256 };
  } finally {
    await source.close();
  }
}
