import { constants, lstat, readlink, realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, sep } from "node:path";
import { codeOf, refusalOf } from "./failure.ts";
import { linksFollowedMax } from "./limits.ts";

/**
 * Where a path really leads. Permission is given for real paths only, so a link, `..` or another spelling can't name
 * one file and touch another.
 */
export type Resolved =
  | { readonly kind: "real"; readonly path: string; readonly exists: boolean }
  | { readonly kind: "refused"; readonly message: string };

/**
 * Also of a file that is not there yet: the real path of the nearest folder above it, and the names below. As the system
 * does it, `..` goes up from where a link leads, not from where it stands.
 */
export async function resolveReal(named: string, base: string): Promise<Resolved> {
  if (named.includes("\0")) return refused("a path can't hold a NUL character");
  if (named === "") return refused("the path is empty");
  try {
    return await resolveFrom(under(base, named), linksFollowedMax);
  } catch (error) {
    return refused(refusalOf(error, named));
  }
}

async function resolveFrom(path: string, linksLeft: number): Promise<Resolved> {
  try {
    return { kind: "real", path: await realpath(path), exists: true };
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
  if (dirname(path) === path) return refused(`${path}: there is no such folder`);
  const parent = await resolveFrom(dirname(path), linksLeft);
  if (parent.kind === "refused" || basename(path) === ".") return parent;
  if (basename(path) === "..") return { kind: "real", path: dirname(parent.path), exists: false };
  const here = join(parent.path, basename(path));
  const target = await linkTarget(here);
  if (target === undefined) return { kind: "real", path: here, exists: false };
  if (linksLeft === 0) return refused(`${path}: too many symbolic links`);
  return await resolveFrom(under(parent.path, target), linksLeft - 1);
}

/** Not `join` or `resolve`: they take away `x/..` whatever `x` is. */
const under = (base: string, named: string): string => (isAbsolute(named) ? named : `${base}/${named}`);

/** Of a link that leads to nothing yet: writing through it would create its target. */
async function linkTarget(path: string): Promise<string | undefined> {
  try {
    return (await lstat(path)).isSymbolicLink() ? await readlink(path) : undefined;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

const refused = (message: string): Resolved => ({ kind: "refused", message });

/** The project's folder and those added to it, as real paths. One that is not there is left out. */
export async function realRoots(folders: readonly string[]): Promise<readonly string[]> {
  const resolved = await Promise.all(folders.map((folder) => resolveReal(folder, sep)));
  return resolved.flatMap((one) => (one.kind === "real" && one.exists ? [one.path] : []));
}

/**
 * The real path of an open file. Where the system can't tell from the descriptor, the path it was opened by is looked
 * up again, which a file swapped in between and swapped back would pass.
 */
export async function openedPath(fd: number, path: string): Promise<string> {
  if (process.platform !== "linux") return await realpath(path);
  const target = await readlink(`/proc/self/fd/${fd}`);
  return isAbsolute(target) ? target : path;
}

/** Opens the thing itself, never what a link leads to, and never waits for the other end of a pipe. */
export const openItselfFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
