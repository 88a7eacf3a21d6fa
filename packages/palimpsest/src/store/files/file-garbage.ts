import { randomUUID } from "node:crypto";
import { link, lstat, readdir, readlink, rename, rm, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { basename, join, relative, sep } from "node:path";
import type { ClockDep } from "../../ports/clock-dep.ts";
import type { GarbageStore, NamedSource, SessionWriter, StoredBlob, TemporaryFile } from "../../ports/garbage-store.ts";
import { type BlobId, blobId, bytes, isBlobId, type Millis, millis, sessionId } from "../../schema/brand.ts";
import { isSessionName } from "../is-session-name.ts";
import { openFileSource } from "./file-source.ts";
import { exists, temporaryShape } from "./disk.ts";
import { isAbsent, isTaken } from "./write-failure.ts";
import { judgeLock, type LockDeps, readLock } from "./file-leases.ts";
import { lookAtProcess } from "./look-at-process.ts";

interface FileGarbageOptions {
  readonly deps: ClockDep;
  /** `<home>/projects/<slug>`. */
  readonly folder: string;
  readonly lockDeps?: LockDeps;
}

/**
 * Removing a blob, so that nobody who puts it meanwhile loses it:
 *
 *   <id> ──rename──▶ <id>.<uuid>.leaving ──still old──▶ deleted
 *                                        ──put since──▶ linked back as <id>
 *
 * A put that finds the blob makes it young before the rename, or finds it gone and writes it anew. What a crash leaves
 * behind as `leaving` is brought back when blobs are next listed.
 */
export function fileGarbage(options: FileGarbageOptions): GarbageStore {
  const { folder } = options;
  const blobPath = (id: BlobId): string => join(folder, "blobs", id);
  let known: Promise<readonly ResultLink[]> | undefined;
  return {
    blobs: () => listStoredBlobs(folder),
    places: () => openPlaces(folder),
    openBlob: (id) => sourceAt(blobPath(id)),
    linked: async () => {
      known = listResultLinks(folder);
      return new Set((await known).filter(({ living }) => living).map(({ blob }) => blob));
    },
    writers: () => listWriters(options),
    remove: async (id, before) => {
      known ??= listResultLinks(folder);
      const links = (await known).flatMap(({ blob, path }) => (blob === id ? [path] : []));
      return removeBlob({ path: blobPath(id), links, before });
    },
    temporaries: () => listTemporaries(folder),
    removeTemporary: (path) => rm(path, { force: true }),
  };
}

const leavingShape = /^([0-9a-f]{64})\.[0-9a-f-]{36}\.leaving$/;

async function listStoredBlobs(folder: string): Promise<readonly StoredBlob[]> {
  const inside = join(folder, "blobs");
  await restoreLeaving(inside);
  const stored: StoredBlob[] = [];
  for (const name of await listNames(inside)) {
    const seen = isBlobId(name) ? await statOrAbsent(join(inside, name)) : undefined;
    if (isBlobId(name) && seen?.isFile() === true)
      stored.push({ id: name, bytes: bytes(seen.size), putAt: millis(seen.mtimeMs) });
  }
  return stored.toSorted((one, other) => (one.id < other.id ? -1 : 1));
}

async function restoreLeaving(inside: string): Promise<void> {
  for (const name of await listNames(inside)) {
    const id = leavingShape.exec(name)?.[1];
    if (id !== undefined) await linkBack(join(inside, name), join(inside, id));
  }
}

async function linkBack(leaving: string, path: string): Promise<void> {
  try {
    await link(leaving, path);
  } catch (error) {
    if (isAbsent(error)) return;
    if (!isTaken(error)) {
      if (!(await exists(path))) await rename(leaving, path);
      return;
    }
  }
  await rm(leaving, { force: true });
}

async function removeBlob({
  path,
  links,
  before,
}: {
  readonly path: string;
  readonly links: readonly string[];
  readonly before: Millis;
}): Promise<"removed" | "kept" | "gone"> {
  const leaving = `${path}.${randomUUID()}.leaving`;
  try {
    await rename(path, leaving);
  } catch (error) {
    if (isAbsent(error)) return "gone";
    throw error;
  }
  const { mtimeMs } = await lstat(leaving);
  if (mtimeMs >= before) {
    await linkBack(leaving, path);
    return "kept";
  }
  for (const one of links) await rm(one, { force: true });
  await rm(leaving, { force: true });
  return "removed";
}

interface ResultLink {
  readonly blob: BlobId;
  readonly path: string;
  /** Its session's transcript exists. */
  readonly living: boolean;
}

/** Links in every session's tool-results, told by inode or by where a symbolic link points. */
async function listResultLinks(folder: string): Promise<readonly ResultLink[]> {
  const blobByInode = new Map<string, BlobId>();
  for (const name of await listNames(join(folder, "blobs"))) {
    const seen = isBlobId(name) ? await statOrAbsent(join(folder, "blobs", name)) : undefined;
    if (isBlobId(name) && seen !== undefined) blobByInode.set(`${seen.dev}:${seen.ino}`, name);
  }
  const links: ResultLink[] = [];
  for (const session of await listNames(folder)) {
    if (!isSessionName(sessionId(session))) continue;
    const results = join(folder, session, "tool-results");
    const names = await listNames(results);
    const living = names.length > 0 && (await exists(join(folder, `${session}.jsonl`)));
    for (const name of names) {
      const path = join(results, name);
      const blob = await blobBehind(path, blobByInode);
      if (blob !== undefined) links.push({ blob, path, living });
    }
  }
  return links;
}

async function blobBehind(path: string, blobByInode: ReadonlyMap<string, BlobId>): Promise<BlobId | undefined> {
  const seen = await lstat(path).catch(undefinedIfAbsent);
  if (seen?.isSymbolicLink() !== true)
    return seen === undefined ? undefined : blobByInode.get(`${seen.dev}:${seen.ino}`);
  const target = basename(await readlink(path));
  return isBlobId(target) ? blobId(target) : undefined;
}

async function listWriters({ deps, folder, lockDeps }: FileGarbageOptions): Promise<readonly SessionWriter[]> {
  const judging = { now: deps.now, ...(lockDeps ?? { host: hostname(), lookAtProcess }) };
  const found: SessionWriter[] = [];
  for (const name of await listNames(folder)) {
    if (!name.endsWith(".lock")) continue;
    const seen = await readLock(join(folder, name));
    const verdict = seen === undefined ? undefined : await judgeLock(judging, seen);
    if (verdict?.kind === "held") found.push({ session: name.slice(0, -".lock".length), holder: verdict.holder });
  }
  return found;
}

async function listTemporaries(folder: string): Promise<readonly TemporaryFile[]> {
  const found: TemporaryFile[] = [];
  for await (const path of ownFilesBelow(folder)) {
    const seen = temporaryShape.test(path) ? await statOrAbsent(path) : undefined;
    if (seen?.isFile() === true) found.push({ path, bytes: bytes(seen.size), writtenAt: millis(seen.mtimeMs) });
  }
  return found;
}

/** Files in tool-results are the blobs themselves or copies of them: as places they would hold each other. */
async function* openPlaces(folder: string): AsyncGenerator<NamedSource> {
  for await (const path of filesBelow(folder)) {
    const inside = relative(folder, path).split(sep);
    if (inside[0] === "blobs" || inside.includes("tool-results") || path.endsWith(".lock")) continue;
    const source = await sourceAt(path);
    if (source !== undefined) yield { name: path, source };
  }
}

async function sourceAt(path: string) {
  const opened = await openFileSource(path);
  if (opened.kind === "unreadable") throw new Error(opened.message);
  return opened.kind === "open" ? opened.source : undefined;
}

/** Of the project itself: what a link leads to is somebody else's, and nothing there may be deleted. */
async function* ownFilesBelow(folder: string): AsyncGenerator<string> {
  for (const entry of (await readdir(folder, { withFileTypes: true }).catch(undefinedIfAbsent)) ?? []) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* ownFilesBelow(path);
    else if (entry.isFile()) yield path;
  }
}

/** Through symbolic links too, each folder once: for finding what is referred to, never for deleting. */
async function* filesBelow(folder: string, seenFolders: Set<string> = new Set()): AsyncGenerator<string> {
  const here = await statOrAbsent(folder);
  if (here === undefined || seenFolders.has(`${here.dev}:${here.ino}`)) return;
  seenFolders.add(`${here.dev}:${here.ino}`);
  for (const name of await listNames(folder)) {
    const path = join(folder, name);
    const seen = await statOrAbsent(path);
    if (seen?.isDirectory() === true) yield* filesBelow(path, seenFolders);
    else if (seen?.isFile() === true) yield path;
  }
}

async function listNames(folder: string): Promise<readonly string[]> {
  return (await readdir(folder).catch(undefinedIfAbsent)) ?? [];
}

const statOrAbsent = (path: string) => stat(path).catch(undefinedIfAbsent);

function undefinedIfAbsent(error: unknown): undefined {
  if (isAbsent(error)) return undefined;
  throw error;
}
