import { sniffBytesMax, fileBytesMax } from "../limits.ts";
import { plural } from "palimpsest/internal/text/format-count";
import { createHash, randomUUID } from "node:crypto";
import { type FileHandle, lstat, open, constants, mkdir, rename, rm } from "node:fs/promises";
import { pathOfDescriptor, openItselfFlags, isSpecialPath } from "../resolve-real-path.ts";
import { errorCode, describeRefusal } from "../error-code.ts";
import type { ReadFiles } from "palimpsest/internal/ports/tool";
import { basename, dirname, join } from "node:path";

/** `1 line`, `2 lines`: for the model, which gets numbers without separators. */
export const countWithNoun = (
  count: number,
  noun: "byte" | "character" | "file" | "line" | "match" | "more line",
): string => `${count} ${plural(count, noun)}`;

/**
 * A text file for editing: without its byte order mark, and with `\
 * ` only if the line breaks can be restored exactly.
 */
export interface TextFile {
  readonly text: string;
  readonly mark: "" | "\uFEFF";
  /** `mixed`: the file has both kinds, and `text` keeps them as they are. */
  readonly breaks: "\n" | "\r\n" | "mixed";
}

/** Undefined if it is not UTF-8 text. */
export function decodeText(bytes: Uint8Array): TextFile | undefined {
  if (bytes.subarray(0, sniffBytesMax).includes(0)) return undefined;
  let whole: string;
  try {
    whole = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
  const mark = whole.startsWith("\uFEFF") ? "\uFEFF" : "";
  const text = whole.slice(mark.length);
  if (!text.includes("\r")) return { text, mark, breaks: "\n" };
  const withoutCrlf = text.replaceAll("\r\n", "");
  if (withoutCrlf.includes("\r") || withoutCrlf.includes("\n")) return { text, mark, breaks: "mixed" };
  return { text: text.replaceAll("\r\n", "\n"), mark, breaks: "\r\n" };
}

export function encodeText({ text, mark, breaks }: TextFile): Buffer {
  return Buffer.from(mark + (breaks === "\r\n" ? text.replaceAll(/\r?\n/g, "\r\n") : text), "utf8");
}

/** Without the empty line after the last line break. */
export function splitLines(text: string): readonly string[] {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

export const numberLine = (number: number, line: string): string => `${String(number).padStart(6)}\t${line}`;

export const formatSize = (bytes: number): string =>
  bytes < 1_024
    ? countWithNoun(bytes, "byte")
    : bytes < 2 ** 20
      ? `${(bytes / 1_024).toFixed(1)} KB`
      : `${(bytes / 2 ** 20).toFixed(1)} MB`;

export type ReadFileOutcome =
  | {
      readonly kind: "file";
      readonly bytes: Buffer;
      readonly hash: string;
      readonly modifiedMs: number;
      readonly mode: number;
    }
  | { readonly kind: "absent" }
  | { readonly kind: "refused"; readonly message: string };

/**
 * Reads the file at a real path. The opened file is compared with the permitted path: a link put there since is
 * refused, and pipes, sockets and devices are never read.
 */
export async function readWholeFile(path: string): Promise<ReadFileOutcome> {
  if (isSpecialPath(path)) return refuseRead(`${path}: this is no ordinary file and is not read`);
  try {
    // Checked before opening too: opening a device may already have an effect.
    const refusal = kindRefusal(path, await lstat(path));
    if (refusal !== undefined) return refuseRead(refusal);
    const file = await open(path, openItselfFlags);
    try {
      return await readOpen(file, path);
    } finally {
      await file.close();
    }
  } catch (error) {
    if (errorCode(error) === "ENOENT") return { kind: "absent" };
    return refuseRead(describeRefusal(error, path));
  }
}

async function readOpen(file: FileHandle, path: string): Promise<ReadFileOutcome> {
  const stats = await file.stat();
  const refusal = kindRefusal(path, stats);
  if (refusal !== undefined) return refuseRead(refusal);
  if ((await pathOfDescriptor(file.fd, path)) !== path)
    return refuseRead(`${path}: it was replaced while it was being opened`);
  if (stats.size > fileBytesMax) {
    return refuseRead(
      `${path}: ${stats.size} bytes, more than ${fileBytesMax}; search it with grep or show parts with bash`,
    );
  }
  const bytes = await file.readFile();
  return { kind: "file", bytes, hash: hashFileBytes(bytes), modifiedMs: stats.mtimeMs, mode: stats.mode & 0o7777 };
}

interface FileKind {
  isDirectory(): boolean;
  isFile(): boolean;
  isSymbolicLink(): boolean;
}

function kindRefusal(path: string, kind: FileKind): string | undefined {
  if (kind.isDirectory()) return `${path}: this is a folder; list it with glob or with ls in bash`;
  if (kind.isSymbolicLink()) return `${path}: it was replaced by a link; name it again`;
  if (!kind.isFile()) return `${path}: a pipe, socket or device, not a file`;
  return undefined;
}

export const hashFileBytes = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

const refuseRead = (message: string): ReadFileOutcome => ({ kind: "refused", message });

/**
 * The file on disk, if the agent knows this version: an unseen file, or one that has changed since, is not overwritten.
 */
type KnownFileOutcome =
  | { readonly kind: "seen"; readonly file: Extract<ReadFileOutcome, { kind: "file" }> }
  | { readonly kind: "absent" }
  | { readonly kind: "refused"; readonly message: string };

export async function readKnownFile(files: ReadFiles, path: string): Promise<KnownFileOutcome> {
  const file = await readWholeFile(path);
  if (file.kind !== "file") return file;
  const known = files.get(path);
  if (known === undefined) return { kind: "refused", message: `${path}: read it first, then change it` };
  if (known.hash !== file.hash) {
    return { kind: "refused", message: `${path}: it has changed since you read it; read it again, then change it` };
  }
  return { kind: "seen", file };
}

/** The result of a change names the file but does not show it; only a later read does. */
export const nothingShown = { from: 1, to: 0 } as const;

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
