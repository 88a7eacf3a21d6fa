import { constants } from "node:fs/promises";
import type { BlankOutcome, ByteRange, SetAside } from "../../ports/transcripts.ts";
import { copyChunkBytes } from "../limits.ts";
import { copyAside } from "./copy-aside.ts";
import { openItself } from "./disk.ts";
import { writeFailure } from "./failure.ts";

const space = 0x20;

/** All copies come first: whatever fails on the way, no byte is gone that is not set aside. */
export async function blankRanges(
  log: { path: string; asideFolder: string },
  ranges: readonly ByteRange[],
): Promise<BlankOutcome> {
  try {
    // Not the appending handle: writes through that one go to the end, whatever position they name.
    const file = await openItself(log.path, constants.O_RDWR);
    try {
      const setAside: SetAside[] = [];
      for (const range of ranges) setAside.push(await copyAside({ file, range, folder: log.asideFolder }));
      for (const { start, end } of ranges) {
        for (let at = start; at < end; at += copyChunkBytes) {
          const length = Math.min(copyChunkBytes, end - at);
          await file.write(Buffer.alloc(length, space), 0, length, at);
        }
      }
      await file.datasync();
      return { kind: "blanked", setAside };
    } finally {
      await file.close();
    }
  } catch (error) {
    return writeFailure(error, log.path);
  }
}
