import { randomUUID } from "node:crypto";
import { constants, type FileHandle, mkdir, open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { pathOfDescriptor, isSpecialPath } from "../resolve-real-path.ts";
import { errorCode, describeRefusal } from "../error-code.ts";

type ReplaceOutcome =
  | { readonly kind: "written"; readonly modifiedMs: number }
  | { readonly kind: "refused"; readonly message: string };

interface ReplaceInput {
  /** A real path, as permitted. */
  readonly path: string;
  readonly bytes: Uint8Array;
  /** Of the file it replaces; a new file gets the default of the umask. */
  readonly mode?: number | undefined;
}

/**
 * Replaces a file atomically: readers see the old file or the new one. Every folder on the way is held open and
 * compared with the permitted path, and the rest happens inside it, so that a folder swapped for a link after the
 * permission has no effect. A link at the last name is replaced, not followed.
 */
export async function replaceFile({ path, bytes, mode }: ReplaceInput): Promise<ReplaceOutcome> {
  if (isSpecialPath(path)) return { kind: "refused", message: `${path}: nothing is written there` };
  try {
    const folder = await openFolders(dirname(path));
    if (folder === undefined) {
      return { kind: "refused", message: `${path}: a folder on the way to it was replaced by a link` };
    }
    try {
      return await replaceIn(pathInside(folder), { path, bytes, mode });
    } finally {
      await folder.file.close();
    }
  } catch (error) {
    return { kind: "refused", message: describeRefusal(error, path) };
  }
}

async function replaceIn(folder: string, { path, bytes, mode }: ReplaceInput): Promise<ReplaceOutcome> {
  const temporary = join(folder, `.${randomUUID()}.tmp`);
  const file = await open(temporary, "wx");
  try {
    try {
      await file.writeFile(bytes);
      if (mode !== undefined) await file.chmod(mode);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, join(folder, basename(path)));
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  return { kind: "written", modifiedMs: await readModifiedMs(join(folder, basename(path))) };
}

async function readModifiedMs(path: string): Promise<number> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    return (await file.stat()).mtimeMs;
  } finally {
    await file.close();
  }
}

interface Folder {
  readonly file: FileHandle;
  readonly path: string;
}

/** On Linux a path through the descriptor, which stays valid if the folder is renamed; elsewhere the folder's path. */
const pathInside = ({ file, path }: Folder): string =>
  process.platform === "linux" ? `/proc/self/fd/${file.fd}` : path;

/** Opens the folder and creates missing ones level by level; undefined if a level is not what its path says. */
async function openFolders(path: string): Promise<Folder | undefined> {
  const existing = await openFolder(path, path);
  if (existing !== "absent") return existing;
  if (dirname(path) === path) return undefined;
  const parent = await openFolders(dirname(path));
  if (parent === undefined) return undefined;
  try {
    const pathByDescriptor = join(pathInside(parent), basename(path));
    await mkdir(pathByDescriptor).catch((error: unknown) => {
      if (errorCode(error) !== "EEXIST") throw error;
    });
    const created = await openFolder(pathByDescriptor, path);
    return created === "absent" ? undefined : created;
  } finally {
    await parent.file.close();
  }
}

async function openFolder(openPath: string, path: string): Promise<Folder | "absent" | undefined> {
  let file: FileHandle;
  try {
    file = await open(openPath, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return "absent";
    // With both flags, Linux reports a link as ENOTDIR.
    if (errorCode(error) === "ELOOP" || errorCode(error) === "ENOTDIR") return undefined;
    throw error;
  }
  if ((await pathOfDescriptor(file.fd, path)) === path) return { file, path };
  await file.close();
  return undefined;
}
