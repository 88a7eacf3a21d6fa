import { lstat } from "node:fs/promises";
import type { ReadFile, ReadFiles } from "palimpsest/internal/ports/tool";
import { countWithNoun, decodeText, splitLines } from "./text-file.ts";
import { errorCode } from "../error-code.ts";
import { changedFilesWatchedMax } from "../limits.ts";
import { type ReadFileOutcome, readWholeFile } from "./read-whole-file.ts";

/** A file that is not as the agent saw it last. */
export interface FileState {
  readonly path: string;
  /** Of its bytes; `absent` or `unreadable` if there are none to be had. */
  readonly hash: string;
  /** What it is now, in a few words. */
  readonly words: string;
  /** As the agent saw it: it may have been told of another state since. */
  readonly seenHash: string;
}

interface WatchedFiles {
  /** The conversation's. */
  readonly files: Pick<ReadFiles, "entries">;
  /** Rules may have changed since a file was read. */
  readonly mayRead: (path: string) => boolean;
}

/**
 * Looks whether files that the agent has read or written are still as it saw them. A file whose age is the same is not
 * opened, and one that has changed is hashed once for each change: a look costs an `lstat` a file.
 */
export class FileWatch {
  readonly #lookedAt = new Map<
    string,
    { readonly modifiedMs: number; readonly hash: string; readonly words: string }
  >();

  /** The newest files first. Files that are as they were seen are among them only if they were opened to find out. */
  async look({ files, mayRead }: WatchedFiles): Promise<readonly FileState[]> {
    const watched = Array.from(files.entries()).toReversed().slice(0, changedFilesWatchedMax);
    const readable = watched.filter(([path]) => mayRead(path));
    const states = await Promise.all(readable.map(([path, known]) => this.#state(path, known)));
    return states.filter((state) => state !== undefined);
  }

  async #state(path: string, known: ReadFile): Promise<FileState | undefined> {
    const modifiedMs = await readModifiedMs(path);
    if (modifiedMs === known.modifiedMs) return undefined;
    const before = this.#lookedAt.get(path);
    if (modifiedMs !== undefined && before?.modifiedMs === modifiedMs)
      return { path, hash: before.hash, words: before.words, seenHash: known.hash };
    const found = describeState(await readWholeFile(path));
    if (modifiedMs !== undefined) this.#lookedAt.set(path, { modifiedMs, ...found });
    return { path, ...found, seenHash: known.hash };
  }
}

/** Undefined if it is not there, or nobody may look. */
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
