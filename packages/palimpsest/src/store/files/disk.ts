import { randomUUID } from "node:crypto";
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
import { errorCode, isAbsent, isTaken } from "./write-failure.ts";

export const fileMode = 0o600;
const folderMode = 0o700;

/** Makes the folder and what is missing above it. Level by level, because a strict umask would lock us out of our own parents. */
export async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: folderMode });
    await chmod(path, folderMode);
  } catch (error) {
    if (isTaken(error)) return;
    if (errorCode(error) !== "ENOENT" || dirname(path) === path) throw error;
    await makeFolder(dirname(path));
    // Once: a parent that is there and yet holds nothing, such as a link that leads nowhere, would be tried for ever.
    await mkdir(path, { mode: folderMode }).then(
      () => chmod(path, folderMode),
      (again: unknown) => {
        // Another process made it meanwhile.
        if (!isTaken(again)) throw again;
      },
    );
  }
}

/** A file that did not exist before, open for appending and reading. The mode is set explicitly: the umask may be anything. */
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

/** The file under this name, never what a symbolic link there leads to: that may be another tool's (a link is refused, see `isLink`). */
export const openNoFollow = (path: string, flags: number): Promise<FileHandle> =>
  open(path, flags | constants.O_NOFOLLOW);

/** Makes new names in a folder outlast a power cut. File systems that can't sync a folder promise that by themselves. */
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

/** One write call, unless the system takes less than all; then the rest follows. */
export async function writeAll(file: FileHandle, data: Uint8Array): Promise<WriteAllOutcome> {
  let written = 0;
  while (written < data.byteLength) {
    try {
      const { bytesWritten } = await file.write(data, written, data.byteLength - written, null);
      if (bytesWritten === 0)
        return { kind: "part", written, error: Object.assign(new Error("nothing was written"), { code: "EIO" }) };
      written += bytesWritten;
    } catch (error) {
      return { kind: "part", written, error };
    }
  }
  return { kind: "all" };
}

/** Not from the session's ids: how many temporary names are needed must not shift the ids of a replay. */
export const temporaryPath = (path: string): string => `${path}.${randomUUID()}.tmp`;

/** Whether a file of this name was on its way to `path` when its process was killed, or still is. */
export const isTemporaryFor = (name: string, path: string): boolean =>
  name.startsWith(`${basename(path)}.`) && temporaryShape.test(name);
export const temporaryShape = /\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tmp$/;

/** Gives a finished file its name in one step, and only if that name is free. */
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

/** A file of its own: no folder, and no link to somebody else's. */
export async function isOwnFile(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isFile();
  } catch (error) {
    if (isAbsent(error)) return false;
    throw error;
  }
}

/** Undefined for what is larger, can't be read or is no file: reading a pipe would wait until somebody writes into it. */
export async function readSmallFile(path: string, bytesMax: number): Promise<string | undefined> {
  try {
    const seen = await stat(path);
    return seen.isFile() && seen.size <= bytesMax ? await readFile(path, "utf8") : undefined;
  } catch {
    return undefined;
  }
}

type Sync = "synced" | "unsynced";

/** Replaces a file of ours in one step; a reader sees the old bytes or the new ones. */
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
