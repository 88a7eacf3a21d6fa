import { type FileHandle, constants, lstat, open, stat } from "node:fs/promises";
import { bytes } from "../../schema/brand.ts";
import type { ByteRange, ByteSource } from "../../ports/transcripts.ts";
import { openNoFollow, errorCode, isAbsent, isLink, refusalText } from "./disk.ts";

type OpenFileOutcome =
  | { readonly kind: "open"; readonly source: FileSource }
  | { readonly kind: "missing" }
  /** `code` is the system's error code, `message` is one line for the user. */
  | { readonly kind: "unreadable"; readonly code: string; readonly message: string };

interface FileSource extends ByteSource {
  readonly mtimeMs: number;
  readonly birthtimeMs: number;
}

/** Opens any file for reading only, including another tool's. Follows links. */
export async function openFileSource(path: string): Promise<OpenFileOutcome> {
  try {
    return (await stat(path)).isFile() ? await toOpenedFile(open(path, "r")) : notAFile(path);
  } catch (error) {
    return readFailure(error, path);
  }
}

/** Opens one of our own transcripts. A link counts as missing: it may lead to another program's file. */
export async function openOwnFileSource(path: string): Promise<OpenFileOutcome> {
  try {
    const stats = await lstat(path);
    if (stats.isSymbolicLink()) return { kind: "missing" };
    return stats.isFile() ? await toOpenedFile(openNoFollow(path, constants.O_RDONLY)) : notAFile(path);
  } catch (error) {
    return isLink(error) ? { kind: "missing" } : readFailure(error, path);
  }
}

const toOpenedFile = async (file: Promise<FileHandle>): Promise<OpenFileOutcome> => ({
  kind: "open",
  source: await toFileSource(await file),
});

/** Callers check this before they open the path: opening a pipe would wait for a writer. */
const notAFile = (path: string): OpenFileOutcome => ({
  kind: "unreadable",
  code: "EISDIR",
  message: `${path} is not a file: give the path of a transcript.`,
});

function readFailure(error: unknown, path: string): OpenFileOutcome {
  if (isAbsent(error)) return { kind: "missing" };
  const code = errorCode(error);
  if (code === undefined) throw error;
  return { kind: "unreadable", code, message: `Can't read ${path} (${refusalText(code) ?? code}).` };
}

async function toFileSource(file: FileHandle): Promise<FileSource> {
  const { size, mtimeMs, birthtimeMs } = await file.stat();
  return {
    size: bytes(size),
    mtimeMs,
    birthtimeMs,
    read: (range) => readRange(file, { start: Math.max(0, range.start), end: Math.min(size, range.end) }),
    close: () => file.close(),
  };
}

/** Returns fewer bytes than requested only if the file ends. */
export async function readRange(file: FileHandle, { start, end }: ByteRange): Promise<Uint8Array> {
  const buffer = Buffer.allocUnsafe(Math.max(0, end - start));
  let filled = 0;
  while (filled < buffer.byteLength) {
    const { bytesRead } = await file.read(buffer, filled, buffer.byteLength - filled, start + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}
