import { type FileHandle, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Bytes, bytes } from "../../schema/brand.ts";
import type { ByteRange, ByteSource, SetAside } from "../../ports/transcripts.ts";
import { copyChunkBytes } from "../limits.ts";
import { tailOf } from "../torn-tail.ts";
import { readRange } from "./byte-source.ts";
import { createFile, makeFolder, syncFolder, temporaryBeside, writeAll } from "./disk.ts";

export interface HealedTail {
  readonly size: Bytes;
  readonly setAside: SetAside | undefined;
}

/**
 * Ends the last line with a newline if it has none. Torn bytes are first copied aside and stay in the file too, so a
 * crash at any step here loses nothing and the next opening does it again.
 */
export async function healTail(file: FileHandle, asideFolder: string): Promise<HealedTail> {
  const { size } = await file.stat();
  const tail = await tailOf(sourceOf(file, size));
  if (tail.kind === "ended") return { size: bytes(size), setAside: undefined };
  const setAside = tail.kind === "torn" ? await copyAside({ file, range: tail, folder: asideFolder }) : undefined;
  const written = await writeAll(file, Buffer.from("\n"));
  if (written.kind === "part") throw written.error;
  await file.datasync();
  return { size: bytes(size + 1), setAside };
}

const sourceOf = (file: FileHandle, size: number): ByteSource => ({
  size: bytes(size),
  read: (range) => readRange(file, range),
  close: () => Promise.resolve(),
});

async function copyAside(torn: { file: FileHandle; range: ByteRange; folder: string }): Promise<SetAside> {
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
