import { createHash } from "node:crypto";
import { type FileHandle, lstat, open } from "node:fs/promises";
import { openedPath, openItselfFlags } from "../confine.ts";
import { isSpecial } from "../inside.ts";
import { codeOf, refusalOf } from "../failure.ts";
import { fileBytesMax } from "../limits.ts";

export type FileRead =
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
 * The bytes under a real path. What is opened is compared with the path that was permitted: a link put there since then
 * is refused, and pipes, sockets and devices are never read.
 */
export async function readWhole(path: string): Promise<FileRead> {
  if (isSpecial(path)) return refused(`${path}: this is no ordinary file and is not read`);
  try {
    // Before the opening too: opening a device may already do something.
    const wrong = kindRefusal(path, await lstat(path));
    if (wrong !== undefined) return refused(wrong);
    const file = await open(path, openItselfFlags);
    try {
      return await readOpen(file, path);
    } finally {
      await file.close();
    }
  } catch (error) {
    if (codeOf(error) === "ENOENT") return { kind: "absent" };
    return refused(refusalOf(error, path));
  }
}

async function readOpen(file: FileHandle, path: string): Promise<FileRead> {
  const stats = await file.stat();
  const wrong = kindRefusal(path, stats);
  if (wrong !== undefined) return refused(wrong);
  if ((await openedPath(file.fd, path)) !== path) return refused(`${path}: it was replaced while it was being opened`);
  if (stats.size > fileBytesMax) {
    return refused(
      `${path}: ${stats.size} bytes, more than ${fileBytesMax}; search it with grep or show parts with bash`,
    );
  }
  const bytes = await file.readFile();
  return { kind: "file", bytes, hash: hashOf(bytes), modifiedMs: stats.mtimeMs, mode: stats.mode & 0o7777 };
}

interface Kind {
  isDirectory(): boolean;
  isFile(): boolean;
  isSymbolicLink(): boolean;
}

function kindRefusal(path: string, kind: Kind): string | undefined {
  if (kind.isDirectory()) return `${path}: this is a folder; list it with glob or with ls in bash`;
  if (kind.isSymbolicLink()) return `${path}: it was replaced by a link; name it again`;
  if (!kind.isFile()) return `${path}: a pipe, socket or device, not a file`;
  return undefined;
}

export const hashOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

const refused = (message: string): FileRead => ({ kind: "refused", message });
