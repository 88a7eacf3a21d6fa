import { randomUUID } from "node:crypto";
import { writeSync } from "node:fs";
import {
  type FileHandle,
  chmod,
  constants,
  link,
  lstat,
  mkdir,
  open,
  readFile,
  rename,
  rm,
  stat,
} from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { WriteFailure } from "../../ports/blobs.ts";
import { directWriteBytesMax } from "../limits.ts";

export const fileMode = 0o600;
export const folderMode = 0o700;

/** Creates the folder and its missing parents, one level at a time: with a strict umask we could not write into parents we just created. */
export async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: folderMode });
    await chmod(path, folderMode);
  } catch (error) {
    if (isTaken(error)) return;
    if (errorCode(error) !== "ENOENT" || dirname(path) === path) throw error;
    await makeFolder(dirname(path));
    // Only one retry: a parent that exists but can't hold anything, such as a dangling link, would be retried forever.
    await mkdir(path, { mode: folderMode }).then(
      () => chmod(path, folderMode),
      (retryError: unknown) => {
        // Another process may have created it in the meantime.
        if (!isTaken(retryError)) throw retryError;
      },
    );
  }
}

/** Creates a file and opens it for appending and reading; fails if it exists. Sets the mode explicitly, whatever the umask is. */
export async function createFile(path: string): Promise<FileHandle> {
  const file = await open(path, "ax+", fileMode);
  try {
    await file.chmod(fileMode);
    return file;
  } catch (error) {
    await file.close();
    await rm(path, { force: true });
    throw error;
  }
}

/** Opens the file but never follows a symbolic link, whose target may be another tool's file: it rejects with an error for which `isLink` is true. */
export const openNoFollow = (path: string, flags: number): Promise<FileHandle> =>
  open(path, flags | constants.O_NOFOLLOW);

/** Makes new names in a folder survive a power cut. File systems that can't sync a folder guarantee this themselves. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } catch (error) {
    if (!["EINVAL", "EISDIR", "ENOTSUP", "EPERM", "EBADF"].includes(errorCode(error) ?? "")) throw error;
  } finally {
    await folder.close();
  }
}

type WriteAllOutcome =
  | { readonly kind: "all" }
  | { readonly kind: "part"; readonly written: number; readonly error: unknown };

/** Writes at the end or the file's position. Returns how many bytes the system took. */
export type WriteBytes = (data: Uint8Array, offset: number, length: number) => number | Promise<number>;

/** A small write is made on this thread: see `directWriteBytesMax`. */
const writeTo =
  (file: FileHandle): WriteBytes =>
  (data, offset, length) =>
    length <= directWriteBytesMax
      ? writeSync(file.fd, data, offset, length, null)
      : file.write(data, offset, length, null).then(({ bytesWritten }) => bytesWritten);

/** Uses one write call unless the system accepts only part of the data. */
export async function writeAll(
  file: FileHandle,
  data: Uint8Array,
  write: WriteBytes = writeTo(file),
): Promise<WriteAllOutcome> {
  let written = 0;
  while (written < data.byteLength) {
    try {
      const bytesWritten = await write(data, written, data.byteLength - written);
      if (bytesWritten === 0)
        return { kind: "part", written, error: Object.assign(new Error("nothing was written"), { code: "EIO" }) };
      written += bytesWritten;
    } catch (error) {
      return { kind: "part", written, error };
    }
  }
  return { kind: "all" };
}

/** Does not use the session's id generator: the number of temporary names must not shift the ids of a replay. */
export const temporaryPath = (path: string): string => `${path}.${randomUUID()}.tmp`;

/** Whether the name is that of a temporary file for `path`, unfinished or left behind by a killed process. */
export const isTemporaryFor = (name: string, path: string): boolean =>
  name.startsWith(`${basename(path)}.`) && temporaryShape.test(name);
export const temporaryShape = /\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tmp$/;

/** Moves a finished file to its path in one step, only if nothing is there. */
export async function publish(temporary: string, path: string): Promise<"published" | "taken"> {
  try {
    await link(temporary, path);
  } catch (error) {
    if (isTaken(error)) return "taken";
    if (!lacksHardLinks(error)) throw error;
    if (await exists(path)) return "taken";
    await rename(temporary, path);
    return "published";
  }
  await rm(temporary, { force: true });
  return "published";
}

export const lacksHardLinks = (error: unknown): boolean =>
  ["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EXDEV"].includes(errorCode(error) ?? "");

export async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (isAbsent(error)) return false;
    throw error;
  }
}

/** Whether it is a regular file, not a folder and not a link to another program's file. */
export async function isOwnFile(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isFile();
  } catch (error) {
    if (isAbsent(error)) return false;
    throw error;
  }
}

/** Undefined if it is larger, can't be read or is not a regular file: reading a pipe would wait for a writer. */
export async function readSmallFile(path: string, bytesMax: number): Promise<string | undefined> {
  try {
    const stats = await stat(path);
    return stats.isFile() && stats.size <= bytesMax ? await readFile(path, "utf8") : undefined;
  } catch {
    return undefined;
  }
}

type Sync = "synced" | "unsynced";

/** Replaces a file in one step: a reader sees either the old bytes or the new ones. */
export async function replaceFile(options: {
  readonly path: string;
  readonly data: Uint8Array;
  readonly sync: Sync;
}): Promise<void> {
  const temporary = temporaryPath(options.path);
  try {
    await writeNewFile({ path: temporary, data: options.data, sync: options.sync });
    await rename(temporary, options.path);
    if (options.sync === "synced") await syncFolder(dirname(options.path));
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

export async function writeNewFile(options: {
  readonly path: string;
  readonly data: Uint8Array;
  readonly sync: Sync;
}): Promise<void> {
  const file = await createFile(options.path);
  try {
    const written = await writeAll(file, options.data);
    if (written.kind === "part") throw written.error;
    if (options.sync === "synced") await file.datasync();
  } finally {
    await file.close();
  }
}

interface Refusal {
  readonly why: WriteFailure["why"];
  /** The system's error in words. */
  readonly cause: string;
  readonly advice: string;
}

const noPermission: Refusal = {
  why: "read-only",
  cause: "not allowed",
  advice: "check its owner and permissions or set PALIMPSEST_HOME to another folder",
};

/** What each error code of the system means and what the user can do about it. */
const refusalByErrno: ReadonlyMap<string, Refusal> = new Map([
  ["ENOSPC", { why: "disk-full", cause: "no space left", advice: "free some space, then try again" }],
  ["EDQUOT", { why: "disk-full", cause: "the disk quota is used up", advice: "free some space, then try again" }],
  [
    "EFBIG",
    { why: "disk-full", cause: "the file size limit is reached", advice: "raise it (ulimit -f), then try again" },
  ],
  [
    "EROFS",
    {
      why: "read-only",
      cause: "the file system is read-only",
      advice: "make it writable or set PALIMPSEST_HOME to another folder",
    },
  ],
  ["EACCES", noPermission],
  ["EPERM", noPermission],
  ["EISDIR", { why: "io", cause: "not a file", advice: "move away what stands in its place" }],
  ["EIO", { why: "io", cause: "the disk reported an error", advice: "check the disk, then try again" }],
  ["EMFILE", { why: "io", cause: "too many files are open", advice: "raise the limit (ulimit -n)" }],
  ["ENFILE", { why: "io", cause: "too many files are open on this machine", advice: "close some, then try again" }],
]);

/** For example `no space left: free some space, then try again`; undefined for an unknown code. */
export function refusalText(code: string): string | undefined {
  const refusal = refusalByErrno.get(code);
  return refusal === undefined ? undefined : `${refusal.cause}: ${refusal.advice}`;
}

/** Turns an error of the system into data. Any other error is a bug and is rethrown. */
export function writeFailure(error: unknown, path: string): WriteFailure {
  const code = errorCode(error);
  if (code === undefined) throw error;
  return {
    kind: "failed",
    why: refusalByErrno.get(code)?.why ?? "io",
    message: `Can't write ${path} (${refusalText(code) ?? `${code}: check the disk, then try again`}).`,
  };
}

export function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** Nothing is at that path; this includes a path that leads through a file. */
export const isAbsent = (error: unknown): boolean => errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR";

/** The error that `openNoFollow` gives for a symbolic link. */
export const isLink = (error: unknown): boolean => errorCode(error) === "ELOOP";

export const isTaken = (error: unknown): boolean => errorCode(error) === "EEXIST";
