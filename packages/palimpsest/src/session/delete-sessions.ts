import type { WriteFailure } from "../ports/blobs.ts";
import type { ClockDep } from "../ports/clock-dep.ts";
import type { GarbageStore, NamedSource } from "../ports/garbage-store.ts";
import type { DetachOutcome, SessionDeletionDep } from "../ports/session-deletion.ts";
import { type BlobId, type Bytes, bytes, millis, type SessionId } from "../schema/brand.ts";
import { collectGarbage, findNamedBlobs } from "./collect-garbage.ts";
import { garbageAgeMin } from "./limits.ts";

/** Removes something that was derived from a session and is kept outside of it: memories, rows of a search index. */
export interface SessionRemover {
  /** For messages: `memories`. */
  readonly name: string;
  /** What would go, for the question to the user: `3 memories`. Undefined: nothing. Changes nothing. */
  describe(session: SessionId): Promise<string | undefined>;
  /**
   * Called once for all sessions that are gone for every reader, and again after a crash. A failure counts for all of them.
   * Must not reject.
   */
  remove(sessions: readonly SessionId[]): Promise<WriteFailure | undefined>;
}

export interface DeleteSessionsDeps extends SessionDeletionDep, ClockDep {
  /** Absent: blobs stay. */
  readonly garbage?: GarbageStore | undefined;
}

interface DeleteSessionsOptions {
  /** May be empty: then only what an earlier process left unfinished is finished. */
  readonly sessions: readonly SessionId[];
  /** They run in this order, before the session's own files go. */
  readonly removers?: readonly SessionRemover[] | undefined;
  /**
   * Removes what the user chose to lose with `sessions`, such as memories, once each of them is detached. Nobody chose that
   * for sessions that an earlier process left unfinished, so it is not called for them.
   */
  readonly chosenRemovers?: readonly SessionRemover[] | undefined;
  /** A session that the caller has open meanwhile. Blobs that were put recently stay then. */
  readonly during?: SessionId | undefined;
}

export interface DeletionReport {
  /** Also those that an earlier process left unfinished. */
  readonly deleted: readonly SessionId[];
  readonly refused: readonly {
    readonly session: SessionId;
    readonly outcome: Exclude<DetachOutcome, { kind: "detached" }>;
  }[];
  /** Gone for every reader, but not everything of them is removed; the next call tries again. */
  readonly unfinished: readonly { readonly session: SessionId; readonly message: string }[];
  readonly bytesFreed: Bytes;
  readonly blobs: BlobReport;
}

/** `left`: no blob was deleted, because another session is open or a file can't be read; the next garbage collection does it. */
type BlobReport =
  | { readonly kind: "deleted"; readonly count: number }
  | { readonly kind: "left"; readonly why: string };

/**
 * Deletes sessions with everything that belongs to them alone. A process that is killed on the way leaves, for each
 * session, either one that opens, or one that is gone for every reader and that the next call finishes.
 *
 *   detach all ──▶ removers ──▶ blobs that nothing else names ──▶ purge
 */
export async function deleteSessions(
  deps: DeleteSessionsDeps,
  { sessions, removers = [], chosenRemovers = [], during }: DeleteSessionsOptions,
): Promise<DeletionReport> {
  const detachedHere: SessionId[] = [];
  const refused: DeletionReport["refused"][number][] = [];
  for (const session of sessions) {
    const outcome = await deps.deletion.detach(session);
    if (outcome.kind === "detached") detachedHere.push(session);
    else refused.push({ session, outcome });
  }
  const detached = await deps.deletion.detached();
  const chosen = detached.filter((session) => sessions.includes(session));
  const message = (await removeDerived(chosenRemovers, chosen)) ?? (await removeDerived(removers, detached));
  const cleared = message === undefined ? detached : [];
  const unfinished: DeletionReport["unfinished"][number][] =
    message === undefined ? [] : detached.map((session) => ({ session, message }));
  const ownBytes = await countBytes(openPlaces(deps, cleared));
  const blobs = await deleteBlobs(deps, { sessions: cleared, during });
  const failure = await deps.deletion.purge(cleared);
  const left = new Set(await deps.deletion.detached());
  const why = failure?.message ?? "another process is at work on it";
  for (const session of cleared) if (left.has(session)) unfinished.push({ session, message: why });
  // Another process may have finished one that was detached here.
  const deleted = [...new Set([...detachedHere, ...cleared])].filter((session) => !left.has(session));
  const bytesFreed = bytes((failure === undefined ? ownBytes : 0) + blobs.bytesFreed);
  return { deleted, refused, unfinished, bytesFreed, blobs: blobs.report };
}

/** The message of the first remover that failed. */
async function removeDerived(
  removers: readonly SessionRemover[],
  sessions: readonly SessionId[],
): Promise<string | undefined> {
  if (sessions.length === 0) return undefined;
  for (const remover of removers) {
    const failure = await remover.remove(sessions);
    if (failure !== undefined) return `${remover.name}: ${failure.message}`;
  }
  return undefined;
}

interface BlobsInput {
  readonly sessions: readonly SessionId[];
  readonly during: SessionId | undefined;
}

interface FreedBlobs {
  readonly report: BlobReport;
  readonly bytesFreed: number;
}

async function deleteBlobs(deps: DeleteSessionsDeps, input: BlobsInput): Promise<FreedBlobs> {
  try {
    return await deleteUnnamedBlobs(deps, input);
  } catch (error) {
    // A file that can't be read may name any blob. The system's code tells its errors from bugs.
    if (!(error instanceof Error && "code" in error)) throw error;
    return { report: { kind: "left", why: error.message }, bytesFreed: 0 };
  }
}

async function deleteUnnamedBlobs(
  { garbage, ...deps }: DeleteSessionsDeps,
  { sessions, during }: BlobsInput,
): Promise<FreedBlobs> {
  const none = { report: { kind: "deleted", count: 0 }, bytesFreed: 0 } as const;
  if (garbage === undefined || sessions.length === 0) return none;
  const places = openPlaces(deps, sessions);
  const named = await findNamedBlobs({ garbage }, { blobs: await garbage.blobs(), places });
  if (named.size === 0) return none;
  // What the session itself put needs no time to be named. Another session's writer is excluded, or the caller's own.
  const ageMin = during === undefined ? millis(0) : garbageAgeMin;
  const outcome = await collectGarbage({ ...deps, garbage }, { mode: "delete", ageMin, only: named, during });
  if (outcome.kind === "busy") {
    const [writer] = outcome.writers;
    const why = `session ${writer?.session ?? ""} is in use by ${writer?.holder ?? "a process"}`;
    return { report: { kind: "left", why }, bytesFreed: 0 };
  }
  const deleted = outcome.unreferenced.filter(({ state }) => state === "deleted");
  return { report: { kind: "deleted", count: deleted.length }, bytesFreed: sum(deleted) };
}

export interface DeletionPreview {
  /** The session's own files and the blobs that it names; of these, those that something else names will stay. */
  readonly bytes: Bytes;
  readonly blobs: number;
  /** What the removers would remove: `3 memories`. */
  readonly derived: readonly string[];
}

/** What would go with a session. Changes nothing. */
export async function previewDeletion(
  deps: DeleteSessionsDeps,
  {
    session,
    removers = [],
  }: { readonly session: SessionId; readonly removers?: readonly SessionRemover[] | undefined },
): Promise<DeletionPreview> {
  const blobs = (await deps.garbage?.blobs()) ?? [];
  const named: ReadonlySet<BlobId> =
    deps.garbage === undefined
      ? new Set()
      : await findNamedBlobs({ garbage: deps.garbage }, { blobs, places: deps.deletion.places(session) });
  const derived: string[] = [];
  for (const remover of removers) {
    const described = await remover.describe(session);
    if (described !== undefined) derived.push(described);
  }
  const ownBytes = await countBytes(deps.deletion.places(session));
  const blobBytes = sum(blobs.filter(({ id }) => named.has(id)));
  return { bytes: bytes(ownBytes + blobBytes), blobs: named.size, derived };
}

async function* openPlaces(
  { deletion }: SessionDeletionDep,
  sessions: readonly SessionId[],
): AsyncGenerator<NamedSource> {
  for (const session of sessions) yield* deletion.places(session);
}

async function countBytes(places: AsyncIterable<NamedSource>): Promise<number> {
  let total = 0;
  for await (const { source } of places) {
    total += source.size;
    await source.close();
  }
  return total;
}

const sum = (items: readonly { readonly bytes: number }[]): number =>
  items.reduce((total, item) => total + item.bytes, 0);
