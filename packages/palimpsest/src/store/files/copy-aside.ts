import { type FileHandle, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { bytes, type SessionId } from "../../schema/brand.ts";
import type { ByteRange, SetAside } from "../../ports/transcripts.ts";
import { copyChunkBytes } from "../limits.ts";
import { readRange } from "./byte-source.ts";
import { createFile, makeFolder, syncFolder, temporaryBeside, writeAll } from "./disk.ts";

/** Beside the transcript, in the session's own folder. */
export const asideFolder = (transcript: string, session: SessionId): string =>
  join(dirname(transcript), session, "set-aside");

/** Damaged bytes, kept as `<folder>/<start>-<end>.bin` and on disk for sure before anything is written over them. */
export async function copyAside(torn: { file: FileHandle; range: ByteRange; folder: string }): Promise<SetAside> {
  const { start, end } = torn.range;
  await makeFolder(torn.folder);
  const kept = join(torn.folder, `${start}-${end}.bin`);
  const temporary = temporaryBeside(kept);
  try {
    await copyRange({ from: torn.file, range: { start, end }, to: temporary });
    await rename(temporary, kept);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncFolder(torn.folder);
  await syncFolder(dirname(torn.folder));
  return { start: bytes(start), end: bytes(end), kept };
}

async function copyRange(copy: { from: FileHandle; range: ByteRange; to: string }): Promise<void> {
  const target = await createFile(copy.to);
  try {
    for (let start = copy.range.start; start < copy.range.end; start += copyChunkBytes) {
      const end = Math.min(copy.range.end, start + copyChunkBytes);
      const written = await writeAll(target, await readRange(copy.from, { start, end }));
      if (written.kind === "part") throw written.error;
    }
    await target.datasync();
  } finally {
    await target.close();
  }
}
