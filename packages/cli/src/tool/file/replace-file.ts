import { randomUUID } from "node:crypto";
import { constants, type FileHandle, mkdir, open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { pathOfDescriptor, isSpecialPath } from "../resolve-real-path.ts";
import { errorCode, describeRefusal } from "../error-code.ts";

type ReplaceOutcome =
  | { readonly kind: "written"; readonly modifiedMs: number }
  | { readonly kind: "refused"; readonly message: string };

interface ReplaceInput {
  /** A real path: what was permitted. */
  readonly path: string;
  readonly bytes: Uint8Array;
  /** Of the file it replaces; a new file gets what the umask leaves. */
  readonly mode?: number;
}

/**
 * Puts bytes under a path in one step: readers see the old file or the new one. Every folder on the way is held open
 * and compared with the path that was permitted, and the rest happens inside it, so that a folder swapped for a link
 * after the permission leads nowhere. A link at the last name is replaced, not followed.
 */
export async function replaceFile({ path, bytes, mode }: ReplaceInput): Promise<ReplaceOutcome> {
  if (isSpecialPath(path)) return { kind: "refused", message: `${path}: nothing is written there` };
  try {
    const folder = await openFolders(dirname(path));
    if (folder === undefined) {
      return { kind: "refused", message: `${path}: a folder on the way to it was replaced by a link` };
    }
    try {
      return await replaceIn(pathInside(folder), { path, bytes, ...(mode === undefined ? {} : { mode }) });
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

/** A name for what is inside that stays there whatever happens to the folder's own name; elsewhere than on Linux its path. */
const pathInside = ({ file, path }: Folder): string =>
  process.platform === "linux" ? `/proc/self/fd/${file.fd}` : path;

/** Opens the folder, making what is missing one level at a time; undefined if some level is not what its path says. */
async function openFolders(path: string): Promise<Folder | undefined> {
  const there = await openFolder(path, path);
  if (there !== "absent") return there;
  if (dirname(path) === path) return undefined;
  const parent = await openFolders(dirname(path));
  if (parent === undefined) return undefined;
  try {
    const named = join(pathInside(parent), basename(path));
    await mkdir(named).catch((error: unknown) => {
      if (errorCode(error) !== "EEXIST") throw error;
    });
    const made = await openFolder(named, path);
    return made === "absent" ? undefined : made;
  } finally {
    await parent.file.close();
  }
}

async function openFolder(named: string, path: string): Promise<Folder | "absent" | undefined> {
  let file: FileHandle;
  try {
    file = await open(named, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return "absent";
    // With both flags, Linux says of a link that it is no folder.
    if (errorCode(error) === "ELOOP" || errorCode(error) === "ENOTDIR") return undefined;
    throw error;
  }
  if ((await pathOfDescriptor(file.fd, path)) === path) return { file, path };
  await file.close();
  return undefined;
}
