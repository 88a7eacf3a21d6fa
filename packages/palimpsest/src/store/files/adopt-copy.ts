import type { FileHandle } from "node:fs/promises";
import type { WriteFailure } from "../../ports/blobs.ts";
import type { AdoptedCopy } from "../../ports/transcripts.ts";
import { lineBuffer } from "../line-buffer.ts";
import { copyChunkBytes } from "../limits.ts";
import { writeAll } from "./disk.ts";
import { writeFailure } from "./failure.ts";

/** Origin line, then the source's bytes, then a newline if they lack one. Memory: one chunk. */
export async function adoptCopy(options: {
  file: FileHandle;
  path: string;
  copy: AdoptedCopy;
}): Promise<WriteFailure | undefined> {
  const { file, path, copy } = options;
  const write = async (data: Uint8Array): Promise<WriteFailure | undefined> => {
    const written = await writeAll(file, data);
    return written.kind === "part" ? writeFailure(written.error, path) : undefined;
  };
  let failure = await write(lineBuffer(copy.originLine, "line-end"));
  let lastByte = newline;
  for (let start = 0; start < copy.length && failure === undefined; start += copyChunkBytes) {
    const end = Math.min(copy.length, start + copyChunkBytes);
    const chunk = await readChunk(copy, { start, end });
    if ("kind" in chunk) return chunk;
    lastByte = chunk.at(-1) ?? lastByte;
    failure = await write(chunk);
  }
  return failure ?? (lastByte === newline ? undefined : await write(Buffer.of(newline)));
}

const newline = 0x0a;

async function readChunk(copy: AdoptedCopy, range: { start: number; end: number }): Promise<Uint8Array | WriteFailure> {
  try {
    const chunk = await copy.source.read(range);
    if (chunk.byteLength === range.end - range.start) return chunk;
    return unreadable(
      `it ends at byte ${range.start + chunk.byteLength}, before the ${copy.length} that were to be copied`,
    );
  } catch (error) {
    return unreadable(error instanceof Error ? error.message : String(error));
  }
}

const unreadable = (reason: string): WriteFailure => ({
  kind: "failed",
  why: "io",
  message: `The session to copy could not be read to its end (${reason}): check the file, then try again.`,
});
