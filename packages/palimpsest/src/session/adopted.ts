import type { SessionListDep } from "../ports/session-list.ts";
import type { TranscriptsDep } from "../ports/transcripts.ts";
import type { BlobId, SessionId } from "../schema/brand.ts";
import { readOrigin, type SessionOrigin, sourceMark } from "./origin.ts";

/** A session that was made from another tool's file. */
export interface Adopted {
  readonly session: SessionId;
  readonly origin: SessionOrigin;
}

/** The project's, newest first. Reads one line of each session. */
export async function adoptedSessions(deps: TranscriptsDep & SessionListDep): Promise<readonly Adopted[]> {
  const adopted: Adopted[] = [];
  for (const { sessionId } of await deps.sessions.list()) {
    const made = await madeFrom(deps, sessionId);
    if (made.kind === "source") adopted.push({ session: sessionId, origin: made.origin });
  }
  return adopted;
}

/** By the hash of the file they were made from. Of several copies the newest counts: it was worked on last. */
export const sessionBySource = (adopted: readonly Adopted[]): Map<BlobId, SessionId> =>
  new Map(adopted.toReversed().map(({ session, origin }) => [sourceMark(origin).sha256, session]));

export const adoptedSources = async (deps: TranscriptsDep & SessionListDep): Promise<Map<BlobId, SessionId>> =>
  sessionBySource(await adoptedSessions(deps));

/** `unknown`: its first line names no source, because there never was one or because it is damaged. */
export type MadeFrom =
  | { readonly kind: "source"; readonly origin: SessionOrigin; readonly sha256: BlobId }
  | { readonly kind: "unknown" }
  | { readonly kind: "missing" };

export async function madeFrom({ transcripts }: TranscriptsDep, id: SessionId): Promise<MadeFrom> {
  const source = await transcripts.openForReading(id);
  if (source === undefined) return { kind: "missing" };
  try {
    const origin = await readOrigin(source);
    return origin === undefined ? { kind: "unknown" } : { kind: "source", origin, sha256: sourceMark(origin).sha256 };
  } finally {
    await source.close();
  }
}
