import { constants, lstat, readlink, realpath, access, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, sep } from "node:path";
import { errorCode, describeRefusal } from "./error-code.ts";
import { linksFollowedMax } from "./limits.ts";

/** Permissions apply to real paths only, so a link, `..` or another spelling can't name one file and touch another. */
export type RealPathOutcome =
  | { readonly kind: "real"; readonly path: string; readonly exists: boolean }
  | { readonly kind: "refused"; readonly message: string };

/**
 * Also resolves a file that does not exist yet: the real path of the nearest existing folder and the names below it. As
 * in the system, `..` goes up from a link's target, not from the link.
 */
export async function resolveRealPath(named: string, base: string): Promise<RealPathOutcome> {
  if (named.includes("\0")) return refusePath("a path can't hold a NUL character");
  if (named === "") return refusePath("the path is empty");
  try {
    return await resolveFrom(joinUnresolved(base, named), linksFollowedMax);
  } catch (error) {
    return refusePath(describeRefusal(error, named));
  }
}

async function resolveFrom(path: string, linksLeft: number): Promise<RealPathOutcome> {
  try {
    return { kind: "real", path: await realpath(path), exists: true };
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  }
  if (dirname(path) === path) return refusePath(`${path}: there is no such folder`);
  const parent = await resolveFrom(dirname(path), linksLeft);
  if (parent.kind === "refused" || basename(path) === ".") return parent;
  if (basename(path) === "..") return { kind: "real", path: dirname(parent.path), exists: false };
  const candidate = join(parent.path, basename(path));
  const target = await linkTarget(candidate);
  if (target === undefined) return { kind: "real", path: candidate, exists: false };
  if (linksLeft === 0) return refusePath(`${path}: too many symbolic links`);
  return await resolveFrom(joinUnresolved(parent.path, target), linksLeft - 1);
}

/** Not `join` or `resolve`: they remove `x/..` even if `x` is a link. */
const joinUnresolved = (base: string, named: string): string => (isAbsolute(named) ? named : `${base}/${named}`);

/** The target of a link that leads to nothing yet: writing through it would create the target. */
async function linkTarget(path: string): Promise<string | undefined> {
  try {
    return (await lstat(path)).isSymbolicLink() ? await readlink(path) : undefined;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

const refusePath = (message: string): RealPathOutcome => ({ kind: "refused", message });

/** The project's folder and those added to it, as real paths. Missing folders are left out. */
export async function realRoots(folders: readonly string[]): Promise<readonly string[]> {
  const resolved = await Promise.all(folders.map((folder) => resolveRealPath(folder, sep)));
  return resolved.flatMap((one) => (one.kind === "real" && one.exists ? [one.path] : []));
}

/**
 * The real path of an open file. If the system can't tell it from the descriptor, the path is resolved again; a file
 * that was swapped and swapped back in between would go unnoticed.
 */
export async function pathOfDescriptor(fd: number, path: string): Promise<string> {
  if (process.platform !== "linux") return await realpath(path);
  const target = await readlink(`/proc/self/fd/${fd}`);
  return isAbsolute(target) ? target : path;
}

/** Opens the file itself, never a link's target, and never waits for the other end of a pipe. */
export const openItselfFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Both must be real paths. A root contains itself. */
export const isInside = (path: string, root: string): boolean =>
  path === root || path.startsWith(root.endsWith("/") ? root : `${root}/`);

export const isInsideAny = (path: string, roots: readonly string[]): boolean =>
  roots.some((root) => isInside(path, root));

/** Views into processes and devices, not files: `/proc/self/environ` holds this process's secrets. */
const specialFolders: readonly string[] = ["/proc", "/dev", "/sys"];

export const isSpecialPath = (path: string): boolean => isInsideAny(path, specialFolders);

export const canRun = (path: string): Promise<boolean> =>
  falseIfRefused(async () => {
    await access(path, constants.X_OK);
    return true;
  });

/** Follows links. */
export const isFolder = (path: string): Promise<boolean> =>
  falseIfRefused(async () => (await stat(path)).isDirectory());

/** If the system refuses to answer, the answer is no. */
async function falseIfRefused(ask: () => Promise<boolean>): Promise<boolean> {
  try {
    return await ask();
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return false;
  }
}
