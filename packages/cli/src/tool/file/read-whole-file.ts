import { createHash } from "node:crypto";
import { type FileHandle, lstat, open } from "node:fs/promises";
import { pathOfDescriptor, openItselfFlags, isSpecialPath } from "../resolve-real-path.ts";
import { errorCode, describeRefusal } from "../error-code.ts";
import { fileBytesMax } from "../limits.ts";
import type { ReadFiles } from "palimpsest/internal/ports/tool";

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
