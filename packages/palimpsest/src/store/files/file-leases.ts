import { hostname } from "node:os";
import { join } from "node:path";
import type { ClockDep, IdsDep } from "../../ports/clock-dep.ts";
import type { Leases, Lease, LeaseOutcome } from "../../ports/store.ts";
import { sessionId } from "../../schema/brand.ts";
import { isSessionName } from "../is-session-name.ts";
import {
  makeFolder,
  createFile,
  lacksHardLinks,
  temporaryPath,
  writeAll,
  writeFailure,
  isAbsent,
  isLink,
  isTaken,
} from "./disk.ts";
import { lookAtProcess, type LookAtProcess } from "./look-at-process.ts";
import { constants, lstat, open, type FileHandle, link, rename, rm } from "node:fs/promises";
import { z } from "zod";
import { parseJson } from "../../schema/json.ts";
import {
  recordBytesMax,
  unreadableLockStaleMs,
  lockAttemptsMax,
  lockAwayChecksMax,
  lockAwayWaitMs,
} from "../limits.ts";
import { readRange } from "./file-source.ts";
import { lstatSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";

interface FileLeasesOptions {
  readonly deps: ClockDep & IdsDep;
  /** `<home>/projects/<slug>`; created when the first lease is acquired. */
  readonly folder: string;
  /** How machines and processes are identified; this machine by default. */
  readonly lockDeps?: LockDeps | undefined;
}

/** Each lease is one small file next to the transcripts. */
export function fileLeases({ deps, folder, lockDeps }: FileLeasesOptions): Leases {
  const allDeps = { ...deps, ...(lockDeps ?? { host: hostname(), lookAtProcess }) };
  const pathOf = (name: string): string => join(folder, `${name}.lock`);
  return {
    acquire: async (name) => {
      if (!isSessionName(sessionId(name))) return badLeaseName(name);
      try {
        await makeFolder(folder);
      } catch (error) {
        return writeFailure(error, pathOf(name));
      }
      return acquireLock(allDeps, pathOf(name));
    },
    look: async (name) => {
      const current = isSessionName(sessionId(name)) ? await readLock(pathOf(name)) : undefined;
      if (current === undefined) return { kind: "free" };
      const verdict = await judgeLock(allDeps, current);
      return verdict.kind === "stale" ? { kind: "left" } : verdict;
    },
  };
}

const badLeaseName = (name: string) =>
  ({ kind: "failed", why: "io", message: `${JSON.stringify(name)} can't be a file's name.` }) as const;

const lockShape = z.object({
  token: z.string().min(1),
  pid: z.int().positive(),
  /** Null if the system does not provide it. */
  processStarted: z.string().nullable(),
  host: z.string(),
  since: z.string(),
});
type LockRecord = z.infer<typeof lockShape>;

export interface LockDeps {
  readonly host: string;
  readonly lookAtProcess: LookAtProcess;
}

/** A snapshot of a lock file; `record` is undefined if the content is not a lock record. */
interface SeenLock {
  readonly path: string;
  /** `foreign`: a link, a pipe or a socket, which Palimpsest never creates there. */
  readonly kind: "file" | "foreign";
  readonly raw: string;
  readonly record: LockRecord | undefined;
  readonly ino: bigint;
  readonly mtimeMs: number;
}

type LockVerdict = { readonly kind: "held"; readonly holder: string } | { readonly kind: "stale" };

/** Names this process as the holder. */
export async function createLockRecord(deps: LockDeps & ClockDep, token: string): Promise<LockRecord> {
  const self = await deps.lookAtProcess(process.pid);
  return {
    token,
    pid: process.pid,
    processStarted: (self.kind === "alive" ? self.started : undefined) ?? null,
    host: deps.host,
    since: new Date(deps.now()).toISOString(),
  };
}

const createLockContent = async (deps: LockDeps & ClockDep, token: string): Promise<Buffer> =>
  Buffer.from(`${JSON.stringify(await createLockRecord(deps, token))}\n`);

/** Follows no links and never blocks: opening a pipe would otherwise wait for a writer. */
export async function readLock(path: string): Promise<SeenLock | undefined> {
  try {
    const stats = await lstat(path, { bigint: true });
    if (!stats.isFile() && !stats.isDirectory()) return foreignLock(path, stats);
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const opened = await file.stat({ bigint: true });
      if (!opened.isFile() && !opened.isDirectory()) return foreignLock(path, opened);
      const raw = Buffer.from(await readRange(file, { start: 0, end: recordBytesMax })).toString("utf8");
      const { ino, mtimeMs } = opened;
      return { path, kind: "file", raw, record: parseLockRecord(raw), ino, mtimeMs: Number(mtimeMs) };
    } finally {
      await file.close();
    }
  } catch (error) {
    // A link that appeared after `lstat`: the next attempt sees the link itself.
    if (isAbsent(error) || isLink(error)) return undefined;
    throw error;
  }
}

const foreignLock = (path: string, { ino, mtimeMs }: { ino: bigint; mtimeMs: bigint }): SeenLock => ({
  path,
  kind: "foreign",
  raw: "",
  record: undefined,
  ino,
  mtimeMs: Number(mtimeMs),
});

function parseLockRecord(raw: string): LockRecord | undefined {
  try {
    return lockShape.safeParse(parseJson(raw)).data;
  } catch {
    return undefined;
  }
}

const isSameLock = (a: SeenLock, b: SeenLock): boolean => a.kind === b.kind && a.ino === b.ino && a.raw === b.raw;

/** A lock is stale only if that is proven: a process that is invisible from here may still be writing. */
export async function judgeLock(deps: LockDeps & ClockDep, seen: SeenLock): Promise<LockVerdict> {
  const { record } = seen;
  if (seen.kind === "foreign") return { kind: "stale" };
  if (record === undefined) {
    // A time in the future means that a clock was changed; without `abs` the lock would be held until that time.
    const age = Math.abs(deps.now() - seen.mtimeMs);
    return age > unreadableLockStaleMs
      ? { kind: "stale" }
      : { kind: "held", holder: "a process that is just opening it" };
  }
  if (record.host !== deps.host) {
    const holder = `process ${record.pid} on ${record.host} since ${record.since} (if that process is gone, delete ${seen.path})`;
    return { kind: "held", holder };
  }
  const seenProcess = await deps.lookAtProcess(record.pid);
  if (seenProcess.kind === "dead") return { kind: "stale" };
  const { started } = seenProcess;
  if (started !== undefined && record.processStarted !== null && started !== record.processStarted)
    return { kind: "stale" };
  return { kind: "held", holder: `process ${record.pid} on this machine since ${record.since}` };
}

/**
 * One writer per session, across processes. States of `<sessionId>.lock`:
 *
 *   absent ──link──▶ held ──close──▶ absent
 *   held ──holder dies──▶ stale ──rename, checked──▶ absent
 *   foreign (a link, a pipe, a socket: never ours) counts as stale; a folder is refused, since it may contain files
 *
 * A lock appears with its content in one step (a finished temporary file is linked to the path). A stale lock is renamed
 * and only then compared with the lock that was judged: if another process was faster, the renamed file is its live lock,
 * and it is linked back with the same inode. The holder keeps its lock file open, so that no other file can get its inode,
 * and compares that inode with the one at the path before each append.
 */
export async function acquireLock(deps: LockDeps & ClockDep & IdsDep, path: string): Promise<LeaseOutcome> {
  const token = deps.uuid();
  try {
    for (let attempt = 0; attempt < lockAttemptsMax; attempt += 1) {
      const lease = await placeLock({ path, content: await createLockContent(deps, token) });
      if (lease !== undefined) return { kind: "acquired", lease };
      const seen = await readLock(path);
      if (seen === undefined) continue;
      const verdict = await judgeLock(deps, seen);
      if (verdict.kind === "held") return { kind: "busy", holder: verdict.holder };
      await removeStaleLock({ path, token, seen });
    }
    return { kind: "busy", holder: "several processes that open it at this moment" };
  } catch (error) {
    return writeFailure(error, path);
  }
}

interface LockPlacement {
  readonly path: string;
  readonly content: Buffer;
}

/**
 * A lock at a path that nobody else uses: it counts as held until the file is removed or this process ends. Unlike a
 * lease it keeps no file open, so that a lock may be left behind on purpose.
 */
export async function writeLock(deps: LockDeps & ClockDep & IdsDep, path: string): Promise<void> {
  const file = await createFileWith(path, await createLockContent(deps, deps.uuid()));
  await file.close();
}

/** Undefined if there is a lock already. */
async function placeLock({ path, content }: LockPlacement): Promise<Lease | undefined> {
  const temporary = temporaryPath(path);
  const file = await createFileWith(temporary, content);
  try {
    await link(temporary, path);
    return await createLease(path, file);
  } catch (error) {
    await file.close();
    if (isTaken(error)) return undefined;
    if (!lacksHardLinks(error)) throw error;
    return await placeWithoutLinks({ path, content });
  } finally {
    await rm(temporary, { force: true });
  }
}

/** The lock is empty for a moment here; that is why a new unreadable lock counts as held. */
async function placeWithoutLinks({ path, content }: LockPlacement): Promise<Lease | undefined> {
  try {
    return await createLease(path, await createFileWith(path, content));
  } catch (error) {
    if (isTaken(error)) return undefined;
    throw error;
  }
}

async function createFileWith(path: string, content: Buffer): Promise<FileHandle> {
  const file = await createFile(path);
  const written = await writeAll(file, content);
  if (written.kind === "all") return file;
  await file.close();
  await rm(path, { force: true });
  throw written.error;
}

async function createLease(path: string, file: FileHandle): Promise<Lease> {
  const held = await file.stat({ bigint: true });
  let released: Promise<void> | undefined;
  // A synchronous stat, which is cheaper than one on another thread. The lease is lost if another file is at the path, or none for longer than a moment.
  const state = async (): Promise<"held" | "lost"> => {
    for (let check = 0; check < lockAwayChecksMax; check += 1) {
      const current = lstatSync(path, { bigint: true, throwIfNoEntry: false });
      if (current !== undefined) return current.ino === held.ino && current.dev === held.dev ? "held" : "lost";
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
  // Once the file is closed, the next holder's lock may get its inode, so the inode proves nothing after the release.
  return {
    state: async () => (released === undefined ? state() : "lost"),
    release: () => (released ??= release()),
  };
}

async function removeStaleLock(options: { path: string; token: string; seen: SeenLock }): Promise<void> {
  const aside = `${options.path}.stale.${options.token}`;
  try {
    await rename(options.path, aside);
  } catch (error) {
    if (isAbsent(error)) return;
    throw error;
  }
  const renamed = await readLock(aside);
  // If a third process has placed its lock in the meantime, the link fails, and the process whose lock we renamed finds it lost.
  if (renamed !== undefined && !isSameLock(renamed, options.seen))
    await link(aside, options.path).catch(() => undefined);
  await rm(aside, { force: true });
}
