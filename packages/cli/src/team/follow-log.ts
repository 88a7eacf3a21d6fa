import { open } from "node:fs/promises";
import { setTimeout as wait } from "node:timers/promises";
import { type Entry, readEntry } from "palimpsest/internal/schema/entry";
import { isObject, tryParseJson } from "palimpsest/internal/schema/json";
import { followChunkBytes, followLookMs } from "./limits.ts";

interface FollowOptions {
  /** Asked when the log has nothing new: if not, it is over. */
  readonly isRunning: () => Promise<boolean>;
  readonly signal: AbortSignal;
}

/** The entries of a transcript, those that are there and those to come. It only grows, so bytes are read once. */
export async function* followLog(path: string, { isRunning, signal }: FollowOptions): AsyncGenerator<Entry> {
  const file = await open(path, "r");
  try {
    let held = Buffer.alloc(0);
    const chunk = Buffer.alloc(followChunkBytes);
    for (let at = 0; !signal.aborted;) {
      const { bytesRead } = await file.read(chunk, 0, chunk.length, at);
      if (bytesRead === 0) {
        if (!(await isRunning())) {
          // It may have written its last lines before it ended.
          if ((await file.stat()).size === at) return;
          continue;
        }
        await wait(followLookMs, undefined, { signal }).catch(() => undefined);
        continue;
      }
      at += bytesRead;
      const bytes = Buffer.concat([held, chunk.subarray(0, bytesRead)]);
      const end = bytes.lastIndexOf(newline) + 1;
      held = bytes.subarray(end);
      for (const line of bytes.subarray(0, end).toString("utf8").split("\n")) {
        const json = tryParseJson(line);
        const read = isObject(json) ? readEntry(json) : undefined;
        if (read?.kind === "entry") yield read.entry;
      }
    }
  } finally {
    await file.close();
  }
}

const newline = 0x0a;
