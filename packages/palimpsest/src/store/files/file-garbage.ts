import { randomUUID } from "node:crypto";
import { link, lstat, readdir, readlink, rename, rm, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { basename, join, relative, sep } from "node:path";
import type { ClockDep } from "../../ports/clock-dep.ts";
import type { GarbageStore, NamedSource, SessionWriter, StoredBlob, TemporaryFile } from "../../ports/garbage-store.ts";
import { type BlobId, blobId, bytes, isBlobId, type Millis, millis, sessionId } from "../../schema/brand.ts";
import { isSessionName } from "../is-session-name.ts";
import { openFileSource } from "./file-source.ts";
import { exists, temporaryShape, isAbsent, isTaken } from "./disk.ts";
import { judgeLock, type LockDeps, readLock } from "./file-leases.ts";
import { lookAtProcess } from "./look-at-process.ts";

interface FileGarbageOptions {
  readonly deps: ClockDep;
  /** `<home>/projects/<slug>`. */
  readonly folder: string;
  readonly lockDeps?: LockDeps;
}

/**
 * Removes unused files. A blob is removed in these steps, so that a concurrent `put` of the same blob never loses it:
 *
 *   <id> ──rename──▶ <id>.<uuid>.leaving ──still old──▶ deleted
 *                                        ──put since──▶ linked back as <id>
 *
 * A `put` that finds the blob updates its time before the rename, or finds it gone and writes it again. A `.leaving` file
 * that a crash left behind is restored when blobs are next listed.
 */
export function fileGarbage(options: FileGarbageOptions): GarbageStore {
  const { folder } = options;
  const blobPath = (id: BlobId): string => join(folder, "blobs", id);
  let linksKnown: Promise<readonly ResultLink[]> | undefined;
  return {
    blobs: () => listStoredBlobs(folder),
    places: () => openPlaces(folder),
    openBlob: (id) => sourceAt(blobPath(id)),
    linked: async () => {
      linksKnown = listResultLinks(folder);
      return new Set((await linksKnown).filter(({ hasTranscript }) => hasTranscript).map(({ blob }) => blob));
    },
    writers: () => listWriters(options),
    remove: async (id, before) => {
      linksKnown ??= listResultLinks(folder);
      const links = (await linksKnown).flatMap(({ blob, path }) => (blob === id ? [path] : []));
      return removeBlob({ path: blobPath(id), links, before });
    },
    temporaries: () => listTemporaries(folder),
    removeTemporary: (path) => rm(path, { force: true }),
  };
}

const leavingShape = /^([0-9a-f]{64})\.[0-9a-f-]{36}\.leaving$/;

async function listStoredBlobs(folder: string): Promise<readonly StoredBlob[]> {
  const blobFolder = join(folder, "blobs");
  await restoreLeaving(blobFolder);
  const stored: StoredBlob[] = [];
  for (const name of await listNames(blobFolder)) {
    const stats = isBlobId(name) ? await statOrAbsent(join(blobFolder, name)) : undefined;
    if (isBlobId(name) && stats?.isFile() === true)
      stored.push({ id: name, bytes: bytes(stats.size), putAt: millis(stats.mtimeMs) });
  }
  return stored.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

async function restoreLeaving(blobFolder: string): Promise<void> {
  for (const name of await listNames(blobFolder)) {
    const id = leavingShape.exec(name)?.[1];
    if (id !== undefined) await linkBack(join(blobFolder, name), join(blobFolder, id));
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
  for (const linkPath of links) await rm(linkPath, { force: true });
  await rm(leaving, { force: true });
  return "removed";
}

interface ResultLink {
  readonly blob: BlobId;
  readonly path: string;
  /** Whether its session still has a transcript. */
  readonly hasTranscript: boolean;
}

/** The links in every session's tool-results, matched to blobs by inode or by the target of a symbolic link. */
async function listResultLinks(folder: string): Promise<readonly ResultLink[]> {
  const blobByInode = new Map<string, BlobId>();
  for (const name of await listNames(join(folder, "blobs"))) {
    const stats = isBlobId(name) ? await statOrAbsent(join(folder, "blobs", name)) : undefined;
    if (isBlobId(name) && stats !== undefined) blobByInode.set(`${stats.dev}:${stats.ino}`, name);
  }
  const links: ResultLink[] = [];
  for (const session of await listNames(folder)) {
    if (!isSessionName(sessionId(session))) continue;
    const results = join(folder, session, "tool-results");
    const names = await listNames(results);
    const hasTranscript = names.length > 0 && (await exists(join(folder, `${session}.jsonl`)));
    for (const name of names) {
      const path = join(results, name);
      const blob = await blobBehind(path, blobByInode);
      if (blob !== undefined) links.push({ blob, path, hasTranscript });
    }
  }
  return links;
}

async function blobBehind(path: string, blobByInode: ReadonlyMap<string, BlobId>): Promise<BlobId | undefined> {
  const stats = await lstat(path).catch(undefinedIfAbsent);
  if (stats?.isSymbolicLink() !== true)
    return stats === undefined ? undefined : blobByInode.get(`${stats.dev}:${stats.ino}`);
  const target = basename(await readlink(path));
  return isBlobId(target) ? blobId(target) : undefined;
}

async function listWriters({ deps, folder, lockDeps }: FileGarbageOptions): Promise<readonly SessionWriter[]> {
  const judgeDeps = { now: deps.now, ...(lockDeps ?? { host: hostname(), lookAtProcess }) };
  const writers: SessionWriter[] = [];
  for (const name of await listNames(folder)) {
    if (!name.endsWith(".lock")) continue;
    const lock = await readLock(join(folder, name));
    const verdict = lock === undefined ? undefined : await judgeLock(judgeDeps, lock);
    if (verdict?.kind === "held") writers.push({ session: name.slice(0, -".lock".length), holder: verdict.holder });
  }
  return writers;
}

async function listTemporaries(folder: string): Promise<readonly TemporaryFile[]> {
  const temporaries: TemporaryFile[] = [];
  for await (const path of filesWithoutLinks(folder)) {
    const stats = temporaryShape.test(path) ? await statOrAbsent(path) : undefined;
    if (stats?.isFile() === true)
      temporaries.push({ path, bytes: bytes(stats.size), writtenAt: millis(stats.mtimeMs) });
  }
  return temporaries;
}

/** Leaves out tool-results: its files are the blobs themselves or copies of them, so blobs would keep each other alive. */
async function* openPlaces(folder: string): AsyncGenerator<NamedSource> {
  for await (const path of filesThroughLinks(folder)) {
    const segments = relative(folder, path).split(sep);
    if (segments[0] === "blobs" || segments[0] === detachedFolderName) continue;
    if (segments.includes("tool-results") || path.endsWith(".lock")) continue;
    const source = await sourceAt(path);
    if (source !== undefined) yield { name: path, source };
  }
}

/** Holds what is left of deleted sessions, which name nothing any more. */
export const detachedFolderName = ".deleted";

/** The file, or every file of the folder, without links and tool-results. */
export async function* openSourcesBelow(path: string): AsyncGenerator<NamedSource> {
  const stats = await lstat(path).catch(undefinedIfAbsent);
  const paths = stats?.isDirectory() === true ? filesWithoutLinks(path) : stats?.isFile() === true ? [path] : [];
  for await (const file of paths) {
    const source = file.split(sep).includes("tool-results") ? undefined : await sourceAt(file);
    if (source !== undefined) yield { name: file, source };
  }
}

async function sourceAt(path: string) {
  const opened = await openFileSource(path);
  if (opened.kind === "unreadable") throw Object.assign(new Error(opened.message), { code: opened.code });
  return opened.kind === "open" ? opened.source : undefined;
}

/** Follows no links: a link's target may belong to another program, and nothing there may be deleted. */
async function* filesWithoutLinks(folder: string): AsyncGenerator<string> {
  for (const entry of (await readdir(folder, { withFileTypes: true }).catch(undefinedIfAbsent)) ?? []) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesWithoutLinks(path);
    else if (entry.isFile()) yield path;
  }
}

/** Follows symbolic links and visits each folder once: for finding references, never for deleting. */
async function* filesThroughLinks(folder: string, visited: Set<string> = new Set()): AsyncGenerator<string> {
  const folderStats = await statOrAbsent(folder);
  if (folderStats === undefined || visited.has(`${folderStats.dev}:${folderStats.ino}`)) return;
  visited.add(`${folderStats.dev}:${folderStats.ino}`);
  for (const name of await listNames(folder)) {
    const path = join(folder, name);
    const stats = await statOrAbsent(path);
    if (stats?.isDirectory() === true) yield* filesThroughLinks(path, visited);
    else if (stats?.isFile() === true) yield path;
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
