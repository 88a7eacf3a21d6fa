import type { WriteFailure } from "../../ports/blobs.ts";

interface Refusal {
  readonly why: WriteFailure["why"];
  /** The system's error in words. */
  readonly cause: string;
  readonly advice: string;
}

const noPermission: Refusal = {
  why: "read-only",
  cause: "not allowed",
  advice: "check its owner and permissions or set PALIMPSEST_HOME to another folder",
};

/** What each error code of the system means and what the user can do about it. */
const refusalByErrno: ReadonlyMap<string, Refusal> = new Map([
  ["ENOSPC", { why: "disk-full", cause: "no space left", advice: "free some space, then try again" }],
  ["EDQUOT", { why: "disk-full", cause: "the disk quota is used up", advice: "free some space, then try again" }],
  [
    "EFBIG",
    { why: "disk-full", cause: "the file size limit is reached", advice: "raise it (ulimit -f), then try again" },
  ],
  [
    "EROFS",
    {
      why: "read-only",
      cause: "the file system is read-only",
      advice: "make it writable or set PALIMPSEST_HOME to another folder",
    },
  ],
  ["EACCES", noPermission],
  ["EPERM", noPermission],
  ["EISDIR", { why: "io", cause: "not a file", advice: "move away what stands in its place" }],
  ["EIO", { why: "io", cause: "the disk reported an error", advice: "check the disk, then try again" }],
  ["EMFILE", { why: "io", cause: "too many files are open", advice: "raise the limit (ulimit -n)" }],
  ["ENFILE", { why: "io", cause: "too many files are open on this machine", advice: "close some, then try again" }],
]);

/** For example `no space left: free some space, then try again`; undefined for an unknown code. */
export function refusalText(code: string): string | undefined {
  const refusal = refusalByErrno.get(code);
  return refusal === undefined ? undefined : `${refusal.cause}: ${refusal.advice}`;
}

/** Turns an error of the system into data. Any other error is a bug and is rethrown. */
export function writeFailure(error: unknown, path: string): WriteFailure {
  const code = errorCode(error);
  if (code === undefined) throw error;
  return {
    kind: "failed",
    why: refusalByErrno.get(code)?.why ?? "io",
    message: `Can't write ${path} (${refusalText(code) ?? `${code}: check the disk, then try again`}).`,
  };
}

export function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** Nothing is at that path; this includes a path that leads through a file. */
export const isAbsent = (error: unknown): boolean => errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR";

/** The error that `openNoFollow` gives for a symbolic link. */
export const isLink = (error: unknown): boolean => errorCode(error) === "ELOOP";

export const isTaken = (error: unknown): boolean => errorCode(error) === "EEXIST";
