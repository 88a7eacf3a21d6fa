import { type FileHandle, open, stat } from "node:fs/promises";
import { bytes } from "../../schema/brand.ts";
import type { ByteRange, ByteSource } from "../../ports/transcripts.ts";
import { codeOf, isAbsent } from "./failure.ts";

export type OpenedFile =
  | { readonly kind: "open"; readonly source: FileSource }
  | { readonly kind: "missing" }
  /** `message` is one line for a person. */
  | { readonly kind: "unreadable"; readonly message: string };

export interface FileSource extends ByteSource {
  readonly mtimeMs: number;
  readonly birthtimeMs: number;
}

/** Any file, also another tool's: opened for reading only. Looks before it opens, since opening a pipe would wait for a writer. */
export async function byteSourceOfFile(path: string): Promise<OpenedFile> {
  try {
    if (!(await stat(path)).isFile())
      return { kind: "unreadable", message: `${path} is not a file: give the path of a transcript.` };
    return { kind: "open", source: await sourceOf(await open(path, "r")) };
  } catch (error) {
    if (isAbsent(error)) return { kind: "missing" };
    const code = codeOf(error);
    if (code === undefined) throw error;
    const what = code === "EACCES" || code === "EPERM" ? "not allowed: check its owner and permissions" : code;
    return { kind: "unreadable", message: `Can't read ${path} (${what}).` };
  }
}

async function sourceOf(file: FileHandle): Promise<FileSource> {
  const { size, mtimeMs, birthtimeMs } = await file.stat();
  return {
    size: bytes(size),
    mtimeMs,
    birthtimeMs,
    read: (range) => readRange(file, { start: Math.max(0, range.start), end: Math.min(size, range.end) }),
    close: () => file.close(),
  };
}

/** Fewer bytes than asked only where the file ends. */
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
