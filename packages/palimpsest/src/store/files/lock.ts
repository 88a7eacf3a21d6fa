import { lstatSync } from "node:fs";
import { type FileHandle, link, rename, rm } from "node:fs/promises";
import { setTimeout as wait } from "node:timers/promises";
import type { ClockDep } from "../../ports/clock.ts";
import type { IdsDep } from "../../ports/ids.ts";
import type { Lease, LeaseOutcome } from "../../ports/leases.ts";
import { lockAttemptsMax, lockAwayChecksMax, lockAwayWaitMs } from "../limits.ts";
import { createFile, lacksHardLinks, temporaryBeside, writeAll } from "./disk.ts";
import { isAbsent, isTaken, writeFailure } from "./failure.ts";
import { type LockDeps, type SeenLock, judge, lockContent, readLock, sameLock } from "./lock-content.ts";

/**
 * One writer per session, across processes. States of `<sessionId>.lock`:
 *
 *   absent ──link──▶ held ──close──▶ absent
 *   held ──holder dies──▶ stale ──rename, checked──▶ absent
 *   foreign (a link, a pipe, a socket: never ours) counts as stale; a folder is refused, since it may hold something
 *
 * A lock appears with its content in one step (a finished temporary file is linked to the name). A stale lock is renamed
 * away and only then compared with what was judged: if another process was faster, what was renamed is its live lock and
 * is linked back, inode and all. The holder keeps its lock file open, so its inode can't be given to another file, and
 * compares it with the one under the name before each append.
 */
export async function acquireLock(deps: LockDeps & ClockDep & IdsDep, path: string): Promise<LeaseOutcome> {
  const token = deps.uuid();
  try {
    for (let attempt = 0; attempt < lockAttemptsMax; attempt += 1) {
      const placed = await place({ path, content: await lockContent(deps, token) });
      if (placed !== undefined) return { kind: "acquired", lease: placed };
      const seen = await readLock(path);
      if (seen === undefined) continue;
      const verdict = await judge(deps, seen);
      if (verdict.kind === "held") return { kind: "busy", holder: verdict.holder };
      await removeStale({ path, token, seen });
    }
    return { kind: "busy", holder: "several processes that open it at this moment" };
  } catch (error) {
    return writeFailure(error, path);
  }
}

interface Placing {
  readonly path: string;
  readonly content: Buffer;
}

async function place(placing: Placing): Promise<Lease | undefined> {
  const temporary = temporaryBeside(placing.path);
  const file = await createWith(temporary, placing.content);
  try {
    await link(temporary, placing.path);
  } catch (error) {
    await file.close();
    if (isTaken(error)) return undefined;
    if (!lacksHardLinks(error)) throw error;
    return await placeWithoutLinks(placing);
  } finally {
    await rm(temporary, { force: true });
  }
  return await heldLock(placing.path, file);
}

/** Here the lock is empty for a moment; that is why an unreadable lock counts as held while it is young. */
async function placeWithoutLinks({ path, content }: Placing): Promise<Lease | undefined> {
  try {
    return await heldLock(path, await createWith(path, content));
  } catch (error) {
    if (isTaken(error)) return undefined;
    throw error;
  }
}

async function createWith(path: string, content: Buffer): Promise<FileHandle> {
  const file = await createFile(path);
  const written = await writeAll(file, content);
  if (written.kind === "all") return file;
  await file.close();
  await rm(path, { force: true });
  throw written.error;
}

async function heldLock(path: string, file: FileHandle): Promise<Lease> {
  const own = await file.stat({ bigint: true });
  let released: Promise<void> | undefined;
  // One stat, not handed to another thread. Lost when another file, or for longer than a moment none, stands under the name.
  const state = async (): Promise<"held" | "lost"> => {
    for (let check = 0; check < lockAwayChecksMax; check += 1) {
      const current = lstatSync(path, { bigint: true, throwIfNoEntry: false });
      if (current !== undefined) return current.ino === own.ino && current.dev === own.dev ? "held" : "lost";
      await wait(lockAwayWaitMs);
    }
    return "lost";
  };
  const release = async (): Promise<void> => {
    try {
      if ((await state()) === "held") await rm(path, { force: true });
    } finally {
      await file.close();
    }
  };
  // Once the file is closed, the next holder's may have its inode: nothing is asked of it any more.
  return {
    state: async () => (released === undefined ? state() : "lost"),
    release: () => (released ??= release()),
  };
}

async function removeStale(options: { path: string; token: string; seen: SeenLock }): Promise<void> {
  const aside = `${options.path}.stale.${options.token}`;
  try {
    await rename(options.path, aside);
  } catch (error) {
    if (isAbsent(error)) return;
    throw error;
  }
  const renamed = await readLock(aside);
  // Where a third process placed its lock meanwhile, the link is refused and the one we displaced finds its lock lost.
  if (renamed !== undefined && !sameLock(renamed, options.seen)) await link(aside, options.path).catch(() => undefined);
  await rm(aside, { force: true });
}
