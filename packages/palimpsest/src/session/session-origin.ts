import type { ByteSource, TranscriptsDep } from "../ports/transcripts.ts";
import type { BlobId, Bytes, SessionId } from "../schema/brand.ts";
import type { Edit } from "../schema/edit.ts";
import { originLineBytesMax, scanChunkBytes } from "./limits.ts";
import { newline, readPlace } from "./scan-lines.ts";
import type { SessionListDep } from "../ports/store.ts";

/** What the first line of a session says about the other tool's log that the session was copied from. */
interface SessionOrigin {
  readonly edit: Extract<Edit, { type: "origin" }>;
  /** Where the copy ends. */
  readonly until: number;
}

/** Identifies a source file. */
export interface SourceMark {
  readonly length: Bytes;
  readonly sha256: BlobId;
}

export async function readOrigin(source: ByteSource): Promise<SessionOrigin | undefined> {
  const head = await source.read({ start: 0, end: Math.min(originLineBytesMax, source.size) });
  const end = head.indexOf(newline);
  const first = end === -1 ? undefined : await readPlace(source, { start: 0, end });
  const edit = first?.entry.kind === "edit" ? first.entry.edit : undefined;
  return edit?.type === "origin" ? { edit, until: end + 1 + edit.length } : undefined;
}

/** Identifies the file that was copied: for a translated log the original, not its translation. */
export const sourceMark = ({ edit }: SessionOrigin): { readonly length: number; readonly sha256: BlobId } =>
  edit.translatedFrom ?? { length: edit.length, sha256: edit.sha256 };

type SourceState =
  | { readonly kind: "same" }
  /** The copied part is unchanged and more follows: the new part can be imported. */
  | { readonly kind: "grown"; readonly bytes: number }
  | { readonly kind: "changed" };

/** Compares a file with the copy that a session was made from. */
export async function sourceState(sha256: HashDep, origin: SessionOrigin, now: ByteSource): Promise<SourceState> {
  const mark = sourceMark(origin);
  if (now.size < mark.length) return { kind: "changed" };
  if ((await hashSource(sha256, now, mark.length)) !== mark.sha256) return { kind: "changed" };
  return now.size === mark.length ? { kind: "same" } : { kind: "grown", bytes: now.size - mark.length };
}

/** Starts a SHA-256 hash. A dependency, so that `loop/` imports no Node module. */
export type HashDep = () => { update(chunk: Uint8Array): void; digest(): BlobId };

/** Reads the source once, a chunk at a time, and no further than `length`. */
export async function hashSource(sha256: HashDep, source: ByteSource, length: number = source.size): Promise<BlobId> {
  const hash = sha256();
  for (let at = 0; at < length; at += scanChunkBytes) {
    hash.update(await source.read({ start: at, end: Math.min(at + scanChunkBytes, length) }));
  }
  return hash.digest();
}

/** A session that was copied from another tool's file. */
export interface AdoptedSession {
  readonly session: SessionId;
  readonly origin: SessionOrigin;
}

/** Lists the adopted sessions of the project, newest first. Reads one line of each session. */
export async function listAdoptedSessions(deps: TranscriptsDep & SessionListDep): Promise<readonly AdoptedSession[]> {
  const adopted: AdoptedSession[] = [];
  for (const { sessionId } of await deps.sessions.list()) {
    const found = await findOrigin(deps, sessionId);
    if (found.kind === "source") adopted.push({ session: sessionId, origin: found.origin });
  }
  return adopted;
}

/** Sessions by the hash of the file that they were copied from. Of several copies the newest counts: it was used last. */
export const sessionBySource = (adopted: readonly AdoptedSession[]): Map<BlobId, SessionId> =>
  new Map(adopted.toReversed().map(({ session, origin }) => [sourceMark(origin).sha256, session]));

export const findSessionsBySource = async (deps: TranscriptsDep & SessionListDep): Promise<Map<BlobId, SessionId>> =>
  sessionBySource(await listAdoptedSessions(deps));

/** `unknown`: the first line names no source, either because there never was one or because the line is damaged. */
type OriginOutcome =
  | { readonly kind: "source"; readonly origin: SessionOrigin; readonly sha256: BlobId }
  | { readonly kind: "unknown" }
  | { readonly kind: "missing" };

export async function findOrigin({ transcripts }: TranscriptsDep, id: SessionId): Promise<OriginOutcome> {
  const source = await transcripts.openForReading(id);
  if (source === undefined) return { kind: "missing" };
  try {
    const origin = await readOrigin(source);
    return origin === undefined ? { kind: "unknown" } : { kind: "source", origin, sha256: sourceMark(origin).sha256 };
  } finally {
    await source.close();
  }
}
