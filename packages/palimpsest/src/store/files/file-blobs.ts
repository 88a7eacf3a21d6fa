import { createHash } from "node:crypto";
import {
  type FileHandle,
  chmod,
  constants,
  copyFile,
  link,
  readdir,
  rename,
  rm,
  symlink,
  utimes,
} from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { type BlobId, blobId, isBlobId, type SessionId } from "../../schema/brand.ts";
import type { BlobLink, BlobPutOutcome, Blobs } from "../../ports/blobs.ts";
import type { Durability } from "../../ports/transcripts.ts";
import { copyChunkBytes, fileNameCharsMax } from "../limits.ts";
import { isSessionName } from "../is-session-name.ts";
import { readRange } from "./file-source.ts";
import {
  exists,
  fileMode,
  isOwnFile,
  makeFolder,
  openNoFollow,
  publish,
  syncFolder,
  temporaryPath,
  writeNewFile,
  errorCode,
  isAbsent,
  isLink,
  isTaken,
  writeFailure,
} from "./disk.ts";

interface FileBlobsOptions {
  /** `<home>/projects/<slug>`. */
  readonly folder: string;
  /** Where the folders of the sessions with their links are; by default the project's folder. */
  readonly linksFolder?: string | undefined;
  /** `turn` and `always` sync each blob, because an edit that refers to it may be on disk a moment later. */
  readonly durability: Durability;
}

export function fileBlobs(options: FileBlobsOptions): Required<Blobs> {
  const folderSync = new SharedSync(join(options.folder, "blobs"));
  const pathOf = (id: BlobId): string => join(options.folder, "blobs", id);
  return {
    put: (data) => {
      const id = sha256(data);
      return putBlob({ ...options, folderSync }, { id, data, path: pathOf(id) });
    },
    get: (id) => getBlob(pathOf(id), id),
    list: () => listBlobs(join(options.folder, "blobs")),
    link: (blobLink) => linkBlob(options, blobLink),
  };
}

const sha256 = (data: Uint8Array): BlobId => blobId(createHash("sha256").update(data).digest("hex"));

/** Syncs a folder once for all callers that wait for a sync to begin. */
class SharedSync {
  readonly #folder: string;
  #running: Promise<unknown> = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** What is in the folder when this is called is on disk when it resolves: so a sync that has begun is not joined. */
  run(): Promise<void> {
    this.#next ??= this.#running.then(() => {
      this.#next = undefined;
      const sync = syncFolder(this.#folder);
      this.#running = sync.catch(() => undefined);
      return sync;
    });
    return this.#next;
  }
}

async function putBlob(
  options: FileBlobsOptions & { readonly folderSync: SharedSync },
  blob: { id: BlobId; data: Uint8Array; path: string },
): Promise<BlobPutOutcome> {
  const { id, data, path } = blob;
  const sync = options.durability === "never" ? "unsynced" : "synced";
  const temporary = temporaryPath(path);
  try {
    const stored = await compareStored(path, data);
    if (stored === "same" && (await touchBlob(path)) === "there") return { kind: "stored", id };
    await makeFolder(dirname(path));
    await writeNewFile({ path: temporary, data, sync });
    // A damaged blob is replaced; otherwise its content could never be stored again.
    if (stored === "damaged") await rename(temporary, path);
    else await publish(temporary, path);
    if (sync === "synced") await options.folderSync.run();
    return { kind: "stored", id };
  } catch (error) {
    return writeFailure(error, path);
  } finally {
    await rm(temporary, { force: true });
  }
}

/** Compares the bytes, because the name does not prove that the content survived a power cut. Holds one chunk in memory. */
async function compareStored(path: string, data: Uint8Array): Promise<"absent" | "same" | "damaged"> {
  const file = await openNoFollow(path, constants.O_RDONLY).catch((error: unknown) => {
    if (isAbsent(error)) return "absent";
    if (isLink(error)) return "damaged";
    throw error;
  });
  if (typeof file === "string") return file;
  try {
    if ((await file.stat()).size !== data.byteLength) return "damaged";
    for (let start = 0; start < data.byteLength; start += copyChunkBytes) {
      const end = Math.min(data.byteLength, start + copyChunkBytes);
      if (Buffer.compare(await readRange(file, { start, end }), data.subarray(start, end)) !== 0) return "damaged";
    }
    return "same";
  } finally {
    await file.close();
  }
}

/**
 * Updates the blob's time, because garbage is collected by age and a caller that puts an existing blob is about to refer
 * to it. `gone`: the blob was collected in the meantime.
 */
async function touchBlob(path: string): Promise<"there" | "gone"> {
  const now = new Date();
  try {
    await utimes(path, now, now);
  } catch (error) {
    if (isAbsent(error)) return "gone";
    // Another user's file or a read-only file system: no garbage is collected there either.
    if (errorCode(error) === undefined) throw error;
  }
  return "there";
}

/** Returns undefined if the bytes do not match the id: a missing blob is reported, a wrong one would be used. */
async function getBlob(path: string, id: BlobId): Promise<Uint8Array | undefined> {
  try {
    const data = await readAndClose(await openNoFollow(path, constants.O_RDONLY));
    return sha256(data) === id ? data : undefined;
  } catch (error) {
    if (isAbsent(error) || isLink(error)) return undefined;
    throw error;
  }
}

async function readAndClose(file: FileHandle): Promise<Uint8Array> {
  try {
    return await file.readFile();
  } finally {
    await file.close();
  }
}

async function listBlobs(folder: string): Promise<readonly BlobId[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    const names = entries.filter((entry) => !entry.isSymbolicLink()).map((entry) => entry.name);
    return names.filter(isBlobId).toSorted();
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
}

/** The folder of a session's links to blobs; `folder` is the project's. */
export const resultsFolder = (folder: string, session: SessionId): string => join(folder, session, "tool-results");

/** A convenience for users: if the link can't be created, there is no path, but the blob is stored all the same. */
async function linkBlob(
  { folder, linksFolder = folder }: FileBlobsOptions,
  { session, blob, toolUse, media }: BlobLink,
): Promise<string | undefined> {
  if (!isSessionName(session)) return undefined;
  const target = join(folder, "blobs", blob);
  const results = resultsFolder(linksFolder, session);
  const path = join(results, `${safeFileName(toolUse)}.${media === "json" ? "json" : "txt"}`);
  try {
    if (await exists(path)) return path;
    if (!(await isOwnFile(target))) return undefined;
    await makeFolder(results);
    await linkOrCopy(target, path);
    return path;
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return isTaken(error) ? path : undefined;
  }
}

async function linkOrCopy(target: string, path: string): Promise<void> {
  const attempts = [
    () => link(target, path),
    () => symlink(relative(dirname(path), target), path),
    () => copyFile(target, path, constants.COPYFILE_EXCL).then(() => chmod(path, fileMode)),
  ];
  let lastError: unknown;
  for (const attempt of attempts) {
    try {
      return await attempt();
    } catch (error) {
      if (isTaken(error)) throw error;
      lastError = error;
    }
  }
  throw lastError;
}

/** Turns a foreign name into a file name that can't escape its folder. A changed name gets a hash, so that no two collide. */
function safeFileName(name: string): string {
  const plain = name.replaceAll(/[^A-Za-z0-9_.-]/g, "-").replace(/^\./, "-");
  if (plain === name && name !== "" && name.length <= fileNameCharsMax) return name;
  const hash = createHash("sha256").update(name).digest("hex").slice(0, 12);
  return `${plain.slice(0, fileNameCharsMax - hash.length - 1)}-${hash}`;
}
