import type { ByteSource, TranscriptsDep } from "../ports/transcripts.ts";
import type { BlobId, Bytes, SessionId } from "../schema/brand.ts";
import type { Edit } from "../schema/edit.ts";
import { originLineBytesMax, scanChunkBytes } from "./limits.ts";
import { readPlace } from "./scan-lines.ts";
import type { SessionListDep } from "../ports/store.ts";

const newline = 0x0a;

/** What the first line of a session says of the other tool's log that it was made from. */
interface SessionOrigin {
  readonly edit: Extract<Edit, { type: "origin" }>;
  /** Where the copy ends. */
  readonly until: number;
}

/** By which a source is known again. */
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

/** The file as it was: of a translated log the original, not the translation. */
export const sourceMark = ({ edit }: SessionOrigin): { readonly length: number; readonly sha256: BlobId } =>
  edit.translatedFrom ?? { length: edit.length, sha256: edit.sha256 };

type SourceState =
  | { readonly kind: "same" }
  /** It begins as it was and goes on: the growth can be imported. */
  | { readonly kind: "grown"; readonly bytes: number }
  | { readonly kind: "changed" };

/** What has become of the file that a session was made from. */
export async function sourceState(sha256: HashDep, origin: SessionOrigin, now: ByteSource): Promise<SourceState> {
  const mark = sourceMark(origin);
  if (now.size < mark.length) return { kind: "changed" };
  if ((await hashSource(sha256, now, mark.length)) !== mark.sha256) return { kind: "changed" };
  return now.size === mark.length ? { kind: "same" } : { kind: "grown", bytes: now.size - mark.length };
}

/** Hashing is the machine's: `loop/` stays free of it. */
export type HashDep = () => { update(chunk: Uint8Array): void; digest(): BlobId };

/** Reads the source once, a chunk at a time; only its first `length` bytes where that is given. */
export async function hashSource(sha256: HashDep, source: ByteSource, length: number = source.size): Promise<BlobId> {
  const hash = sha256();
  for (let at = 0; at < length; at += scanChunkBytes) {
    hash.update(await source.read({ start: at, end: Math.min(at + scanChunkBytes, length) }));
  }
  return hash.digest();
}

/** A session that was made from another tool's file. */
export interface AdoptedSession {
  readonly session: SessionId;
  readonly origin: SessionOrigin;
}

/** The project's, newest first. Reads one line of each session. */
export async function listAdoptedSessions(deps: TranscriptsDep & SessionListDep): Promise<readonly AdoptedSession[]> {
  const adopted: AdoptedSession[] = [];
  for (const { sessionId } of await deps.sessions.list()) {
    const made = await findOrigin(deps, sessionId);
    if (made.kind === "source") adopted.push({ session: sessionId, origin: made.origin });
  }
  return adopted;
}

/** By the hash of the file they were made from. Of several copies the newest counts: it was worked on last. */
export const sessionBySource = (adopted: readonly AdoptedSession[]): Map<BlobId, SessionId> =>
  new Map(adopted.toReversed().map(({ session, origin }) => [sourceMark(origin).sha256, session]));

export const findSessionsBySource = async (deps: TranscriptsDep & SessionListDep): Promise<Map<BlobId, SessionId>> =>
  sessionBySource(await listAdoptedSessions(deps));

/** `unknown`: its first line names no source, because there never was one or because it is damaged. */
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
