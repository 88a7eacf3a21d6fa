import { lstat, readdir, rename, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import type { WriteFailure } from "../../ports/blobs.ts";
import type { ClockDep, IdsDep } from "../../ports/clock-dep.ts";
import type { NamedSource } from "../../ports/garbage-store.ts";
import type { DetachOutcome, SessionDeletion } from "../../ports/session-deletion.ts";
import type { Leases } from "../../ports/store.ts";
import { type SessionId, sessionId } from "../../schema/brand.ts";
import { isSessionName } from "../is-session-name.ts";
import { exists, isAbsent, isOwnFile, isTemporaryFor, makeFolder, syncFolder, writeFailure } from "./disk.ts";
import { detachedFolderName, openSourcesBelow } from "./file-garbage.ts";
import { listSessions } from "./list-sessions.ts";

interface FileDeletionOptions {
  readonly deps: ClockDep & IdsDep;
  /** `<home>/projects/<slug>`. */
  readonly folder: string;
  readonly leases: Leases;
}

/**
 * Where the files of a session are, step by step:
 *
 *   <id>.jsonl, <id>/  ──rename──▶  .deleted/<id>/transcript.jsonl, <id>/        now it is detached
 *                      ──rename──▶  .deleted/<id>/transcript.jsonl, …/files/
 *                      ──purge───▶  .deleted/<id>/transcript.jsonl               the transcript goes last,
 *                      ──purge───▶  nothing                                      because it is the record
 *
 * The name `.deleted` can't be that of a session.
 */
export function fileDeletion(options: FileDeletionOptions): SessionDeletion {
  const { folder } = options;
  return {
    detach: (session) => detachSession(options, session),
    detached: () => listDetached(folder),
    places: (session) => openSessionPlaces(folder, session),
    purge: (sessions) => purgeSessions(options, sessions),
  };
}

const recordFolder = (folder: string, id: SessionId): string => join(folder, detachedFolderName, id);
const recordPath = (folder: string, id: SessionId): string => join(recordFolder(folder, id), "transcript.jsonl");
const filesFolder = (folder: string, id: SessionId): string => join(recordFolder(folder, id), "files");

async function detachSession(options: FileDeletionOptions, id: SessionId): Promise<DetachOutcome> {
  if (!isSessionName(id)) return { kind: "missing" };
  const { folder, leases } = options;
  const path = join(folder, `${id}.jsonl`);
  try {
    if (!(await isOwnFile(path))) return await absentOutcome(folder, id);
    const outcome = await leases.acquire(id);
    if (outcome.kind !== "acquired") return outcome;
    try {
      if (!(await isOwnFile(path))) return await absentOutcome(folder, id);
      await makeFolder(recordFolder(folder, id));
      await rename(path, recordPath(folder, id));
      await syncFolder(recordFolder(folder, id));
      await syncFolder(folder);
      await moveDetachedFiles(folder, id);
      return { kind: "detached" };
    } finally {
      await outcome.lease.release();
    }
  } catch (error) {
    return writeFailure(error, path);
  }
}

const absentOutcome = async (folder: string, id: SessionId): Promise<DetachOutcome> => ({
  kind: (await exists(recordPath(folder, id))) ? "detached" : "missing",
});

/**
 * Moves the files of a detached session that a crash left in their old place; otherwise a new session of the same name
 * would take them over. The caller holds the session's lease. Cost: one look at the disk, if nothing is detached.
 */
export async function moveDetachedFiles(folder: string, id: SessionId): Promise<void> {
  if (!(await exists(recordPath(folder, id)))) return;
  // A session of that name was made since then, and the files are its own.
  if (await exists(join(folder, `${id}.jsonl`))) return;
  await rm(filesFolder(folder, id), { recursive: true, force: true });
  await rename(join(folder, id), filesFolder(folder, id)).catch((error: unknown) => {
    if (!isAbsent(error)) throw error;
  });
}

async function listDetached(folder: string): Promise<readonly SessionId[]> {
  const ids = (await listNames(join(folder, detachedFolderName))).map((name) => sessionId(name)).filter(isSessionName);
  const found: SessionId[] = [];
  for (const id of ids.toSorted()) if (await exists(recordPath(folder, id))) found.push(id);
  return found;
}

async function* openSessionPlaces(folder: string, id: SessionId): AsyncGenerator<NamedSource> {
  if (!isSessionName(id)) return;
  for (const place of [join(folder, `${id}.jsonl`), join(folder, id), recordFolder(folder, id)])
    yield* openSourcesBelow(place);
}

async function purgeSessions(
  options: FileDeletionOptions,
  sessions: readonly SessionId[],
): Promise<WriteFailure | undefined> {
  const { deps, folder } = options;
  const ids = sessions.filter(isSessionName);
  if (ids.length === 0) return undefined;
  try {
    const cleared: SessionId[] = [];
    for (const id of ids) if ((await clearOldPlace(options, id)) === "cleared") cleared.push(id);
    // Lists the sessions that there are, and with that takes the others out of the index.
    await listSessions(deps, { folder, counting: "near" });
    for (const id of cleared) await removeRecord(folder, id);
    return undefined;
  } catch (error) {
    return writeFailure(error, join(folder, detachedFolderName));
  }
}

/** `in-use`: another process is about to move the files, so that the record must stay. */
async function clearOldPlace({ folder, leases }: FileDeletionOptions, id: SessionId): Promise<"cleared" | "in-use"> {
  const outcome = await leases.acquire(id);
  if (outcome.kind === "failed") throw Object.assign(new Error(outcome.message), { code: "EIO" });
  // A new session that uses the name has moved the old files before it got its transcript.
  if (outcome.kind === "busy") return (await exists(join(folder, `${id}.jsonl`))) ? "cleared" : "in-use";
  try {
    await moveDetachedFiles(folder, id);
    for (const name of await listNames(folder))
      if (isTemporaryFor(name, join(folder, `${id}.jsonl`))) await rm(join(folder, name), { force: true });
    return "cleared";
  } finally {
    await outcome.lease.release();
  }
}

async function removeRecord(folder: string, id: SessionId): Promise<void> {
  await rm(filesFolder(folder, id), { recursive: true, force: true });
  await rm(recordPath(folder, id), { force: true });
  await rmdir(recordFolder(folder, id)).catch((error: unknown) => {
    if (!isAbsent(error)) throw error;
  });
}

async function listNames(folder: string): Promise<readonly string[]> {
  const stats = await lstat(folder).catch(() => undefined);
  return stats?.isDirectory() === true ? await readdir(folder) : [];
}
