import type { FileHandle } from "node:fs/promises";
import { type Bytes, bytes } from "../../schema/brand.ts";
import type { ByteSource, SetAside } from "../../ports/transcripts.ts";
import { tailOf } from "../torn-tail.ts";
import { readRange } from "./byte-source.ts";
import { copyAside } from "./copy-aside.ts";
import { writeAll } from "./disk.ts";

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
