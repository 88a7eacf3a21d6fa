import type { WriteFailure } from "../../ports/blobs.ts";

/** Expected refusals of the machine become data. What is no error of the system is a bug and is thrown on. */
export function writeFailure(error: unknown, path: string): WriteFailure {
  const code = codeOf(error);
  if (code === undefined) throw error;
  switch (code) {
    case "ENOSPC":
    case "EDQUOT":
      return {
        kind: "failed",
        why: "disk-full",
        message: `No space left to write ${path}: free some space, then try again.`,
      };
    case "EFBIG":
      return {
        kind: "failed",
        why: "disk-full",
        message: `${path} has reached the file size limit: raise it (ulimit -f), then try again.`,
      };
    case "EROFS":
      return {
        kind: "failed",
        why: "read-only",
        message: `${path} is on a read-only file system: make it writable or set PALIMPSEST_HOME to another folder.`,
      };
    case "EACCES":
    case "EPERM":
      return {
        kind: "failed",
        why: "read-only",
        message: `Not allowed to write ${path}: check its owner and permissions or set PALIMPSEST_HOME to another folder.`,
      };
    default:
      return {
        kind: "failed",
        why: "io",
        message: `Writing ${path} failed (${code}): check the disk, then try again.`,
      };
  }
}

export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** Nothing is there: also when a part of the way to it is a file. */
export const isAbsent = (error: unknown): boolean => codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR";

export const isTaken = (error: unknown): boolean => codeOf(error) === "EEXIST";
