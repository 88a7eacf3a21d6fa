import { lstat } from "node:fs/promises";
import type { ReadFile, ReadFiles } from "palimpsest/internal/ports/tool";
import { countWithNoun, decodeText, splitLines, type ReadFileOutcome, readWholeFile } from "./text-file.ts";
import { errorCode } from "../error-code.ts";
import { changedFilesWatchedMax } from "../limits.ts";

/** The state of a file that may have changed since the agent saw it. */
export interface FileState {
  readonly path: string;
  /** Hash of its bytes; `absent` or `unreadable` if there are none. */
  readonly hash: string;
  /** A short description of its current state. */
  readonly words: string;
  /** The hash that the agent saw; it may have been notified of another state since. */
  readonly seenHash: string;
}

interface WatchedFiles {
  /** The files of the conversation. */
  readonly files: Pick<ReadFiles, "entries">;
  /** Rules may have changed since a file was read. */
  readonly mayRead: (path: string) => boolean;
}

/**
 * Checks whether the files that the agent has read or written are still as it saw them. A file with an unchanged
 * modification time is not opened, and a changed one is hashed once per change: a check costs one `lstat` per file.
 */
export class FileWatch {
  readonly #checked = new Map<string, { readonly modifiedMs: number; readonly hash: string; readonly words: string }>();

  /** Newest files first. An unchanged file is listed only if it had to be opened to find out. */
  async look({ files, mayRead }: WatchedFiles): Promise<readonly FileState[]> {
    const watched = Array.from(files.entries()).toReversed().slice(0, changedFilesWatchedMax);
    const readable = watched.filter(([path]) => mayRead(path));
    const states = await Promise.all(readable.map(([path, known]) => this.#checkFile(path, known)));
    return states.filter((state) => state !== undefined);
  }

  async #checkFile(path: string, known: ReadFile): Promise<FileState | undefined> {
    const modifiedMs = await readModifiedMs(path);
    if (modifiedMs === known.modifiedMs) return undefined;
    const before = this.#checked.get(path);
    if (modifiedMs !== undefined && before?.modifiedMs === modifiedMs)
      return { path, hash: before.hash, words: before.words, seenHash: known.hash };
    const found = describeState(await readWholeFile(path));
    if (modifiedMs !== undefined) this.#checked.set(path, { modifiedMs, ...found });
    return { path, ...found, seenHash: known.hash };
  }
}

/** Undefined if the file is missing or not accessible. */
async function readModifiedMs(path: string): Promise<number | undefined> {
  try {
    return (await lstat(path)).mtimeMs;
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return undefined;
  }
}

function describeState(read: ReadFileOutcome): Pick<FileState, "hash" | "words"> {
  switch (read.kind) {
    case "absent":
      return { hash: "absent", words: "no longer there" };
    case "refused":
      return { hash: "unreadable", words: "can't be read now" };
    case "file": {
      const text = decodeText(read.bytes);
      const words =
        text === undefined
          ? `${countWithNoun(read.bytes.length, "byte")} now, not text`
          : `${countWithNoun(splitLines(text.text).length, "line")} now`;
      return { hash: read.hash, words };
    }
  }
}
