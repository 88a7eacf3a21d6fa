import { constants, open, readdir, realpath, stat } from "node:fs/promises";
import { isAbsolute, join, relative, sep } from "node:path";
import { instructionFileBytesMax, listedDepthMax, listedFilesMax } from "./limits.ts";

/** How instruction files are reached. None of it may reject. */
export interface InstructionFiles {
  /** Follows links, without reading the file: whether it may be read depends on where it lies. */
  readonly find: (path: string) => Promise<FindOutcome>;
  /** `realPath`: as `find` gave it. */
  readonly read: (realPath: string) => Promise<ReadOutcome>;
  /** Every file below a folder, links followed; empty if there is no such folder. */
  readonly list: (folder: string) => Promise<FileList>;
  /** Gets the text of an https address. Must not reject. Absent: addresses are left out. */
  readonly fetch?: (url: string) => Promise<FetchOutcome>;
}

export interface FileList {
  /** Sorted by path. */
  readonly paths: readonly string[];
  /** `cut`: there are more than are listed. */
  readonly reach: "all" | "cut";
}

export type FetchOutcome =
  | {
      readonly kind: "text";
      readonly text: string;
      /** The day on which the address first had this text: `2026-11-15`. */
      readonly fetchedOn: string;
      /** One line for the user, if the text is a copy from an earlier time. */
      readonly notice?: string;
    }
  | { readonly kind: "failed"; readonly why: string };

type FindOutcome =
  /** `realPath` is the path after following links. */
  | { readonly kind: "file"; readonly realPath: string }
  /** There is nothing, or not a file. */
  | { readonly kind: "missing" }
  | { readonly kind: "too-large" }
  | Unreadable;

type ReadOutcome = { readonly kind: "text"; readonly text: string } | Unreadable;

interface Unreadable {
  readonly kind: "unreadable";
  readonly why: string;
}

/** From the disk. Anything but a file, such as a folder or a pipe, counts as missing. */
export const instructionFiles: InstructionFiles = { find: findFile, read: readText, list: listBelow };

async function findFile(path: string): Promise<FindOutcome> {
  try {
    const stats = await stat(path);
    if (!stats.isFile()) return { kind: "missing" };
    if (stats.size > instructionFileBytesMax) return { kind: "too-large" };
    return { kind: "file", realPath: await realpath(path) };
  } catch (error) {
    const why = errorCode(error);
    // `ERR_INVALID_ARG_VALUE`: a word behind an `@` that can't be a path.
    if (why === "ENOENT" || why === "ENOTDIR" || why === "ENAMETOOLONG" || why === "ERR_INVALID_ARG_VALUE")
      return { kind: "missing" };
    return { kind: "unreadable", why };
  }
}

/**
 * A link that was put there after the path was judged is not followed, and a pipe not waited for. Reads no more than the
 * limit: a file may grow.
 */
async function readText(path: string): Promise<ReadOutcome> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const { size } = await file.stat();
      if (size > instructionFileBytesMax) return { kind: "unreadable", why: "EFBIG" };
      const { buffer, bytesRead } = await file.read(Buffer.alloc(size), 0, size, 0);
      return { kind: "text", text: buffer.toString("utf8", 0, bytesRead) };
    } finally {
      await file.close();
    }
  } catch (error) {
    return { kind: "unreadable", why: errorCode(error) };
  }
}

async function listBelow(folder: string): Promise<FileList> {
  const found: string[] = [];
  await collectBelow(folder, { found, above: [] });
  return { paths: found.slice(0, listedFilesMax).toSorted(), reach: found.length > listedFilesMax ? "cut" : "all" };
}

/** Holds others' files, and often very many. */
const skippedFolders: ReadonlySet<string> = new Set([".git", "node_modules"]);

/** `above`: the real paths of the folders that lead here, so that a link to one of them ends. */
async function collectBelow(
  folder: string,
  { found, above }: { readonly found: string[]; readonly above: readonly string[] },
): Promise<void> {
  const real = await realpath(folder).catch(codeOrThrow);
  if (real === undefined || above.includes(real) || above.length > listedDepthMax) return;
  const names = (await readdir(folder).catch(codeOrThrow)) ?? [];
  for (const name of names.toSorted()) {
    if (found.length > listedFilesMax) return;
    if (skippedFolders.has(name)) continue;
    const path = join(folder, name);
    const stats = await stat(path).catch(codeOrThrow);
    if (stats?.isDirectory() === true) await collectBelow(path, { found, above: [...above, real] });
    else if (stats?.isFile() === true) found.push(path);
  }
}

/** A file or folder that can't be listed is treated as if it were not there. */
function codeOrThrow(error: unknown): undefined {
  errorCode(error);
}

/** Throws what did not come from the system: a bug. */
function errorCode(error: unknown): string {
  if (error instanceof Error && "code" in error) return String(error.code);
  throw error;
}

export function isInside(path: string, folder: string): boolean {
  const steps = relative(folder, path);
  return steps !== ".." && !steps.startsWith(`..${sep}`) && !isAbsolute(steps);
}
