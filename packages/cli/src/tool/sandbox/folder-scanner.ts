import { type Dirent, lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { errorCode } from "../error-code.ts";
import { folderSettledMs, lookedFoldersMax } from "./limits.ts";
import { lstat, readdir } from "node:fs/promises";

interface FolderScan {
  readonly folders: readonly string[];
  readonly pipes: readonly string[];
  readonly git: "repository" | "none";
}

/**
 * Finds files that no rule names but that a command must not touch. Searches only near the top of a folder, because
 * every command waits for it: a folder is read again only if it has changed, and checking that costs 2 µs.
 */
export class FolderScanner {
  readonly #foundByFolder = new Map<string, { readonly changedMs: number; readonly found: FolderScan }>();

  /**
   * Named pipes in it and one level below: a read-only mount does not prevent writing to one, and its reader is
   * outside.
   */
  pipesIn(folder: string): readonly string[] {
    return this.#nearby(folder, { levels: 1 }).flatMap((at) => this.#look(at).pipes.map((name) => join(at, name)));
  }

  /** Repositories up to two levels below it, except in folders that builds and installs generate. */
  repositoriesIn(folder: string): readonly string[] {
    const nearby = this.#nearby(folder, { levels: 2, without: generatedFolders });
    return nearby.filter((at) => at !== folder && this.#look(at).git === "repository");
  }

  /** The folder and those below it, level by level. */
  #nearby(folder: string, { levels, without }: { levels: number; without?: RegExp }): readonly string[] {
    const all = [folder];
    let level: readonly string[] = all;
    for (let depth = 0; depth < levels; depth += 1) {
      level = level.flatMap((at) => this.#below(at, without)).slice(0, lookedFoldersMax - all.length);
      all.push(...level);
    }
    return all;
  }

  #below(folder: string, without: RegExp | undefined): readonly string[] {
    const { folders } = this.#look(folder);
    return folders.filter((name) => without?.test(name) !== true).map((name) => join(folder, name));
  }

  #look(folder: string): FolderScan {
    try {
      const { ctimeMs } = lstatSync(folder);
      const kept = this.#foundByFolder.get(folder);
      if (kept?.changedMs === ctimeMs) return kept.found;
      const found = sortEntries(readdirSync(folder, { withFileTypes: true }));
      // A recently changed folder may change again within the same tick of the clock.
      if (ctimeMs < Date.now() - folderSettledMs) this.#foundByFolder.set(folder, { changedMs: ctimeMs, found });
      return found;
    } catch (error) {
      if (errorCode(error) === undefined) throw error;
      return { folders: [], pipes: [], git: "none" };
    }
  }
}

/** They come and go, with the repositories in them. */
const generatedFolders = /^(?:\.|_|node_modules$|build|dist$|out$|target$|tmp$|venv$)/;

function sortEntries(entries: readonly Dirent[]): FolderScan {
  const namesOf = (is: (entry: Dirent) => boolean): readonly string[] => entries.filter(is).map(({ name }) => name);
  return {
    folders: namesOf((entry) => entry.isDirectory()),
    pipes: namesOf((entry) => entry.isFIFO()),
    git: entries.some((entry) => entry.name === ".git" && entry.isDirectory()) ? "repository" : "none",
  };
}

interface FolderEntry {
  readonly name: string;
  readonly kind: "folder" | "link" | "other";
}

/**
 * Caches the names in folders and reads a folder again only if it has changed: checking costs a tenth of reading. Uses
 * the change time, which programs can't set, unlike the modification time.
 */
export class FolderNameCache {
  readonly #readByFolder = new Map<string, { readonly changedMs: number; readonly entries: readonly FolderEntry[] }>();

  /** `unreadable`: it exists, but can't be listed. `none`: there is no such folder. */
  async read(folder: string): Promise<readonly FolderEntry[] | "unreadable" | "none"> {
    try {
      const { ctimeMs } = await lstat(folder);
      const kept = this.#readByFolder.get(folder);
      if (kept?.changedMs === ctimeMs) return kept.entries;
      const entries = (await readdir(folder, { withFileTypes: true })).map((entry): FolderEntry => ({
        name: entry.name,
        kind: entry.isDirectory() ? "folder" : entry.isSymbolicLink() ? "link" : "other",
      }));
      // A recently changed folder may change again within the same tick of the clock.
      if (ctimeMs < Date.now() - folderSettledMs) this.#readByFolder.set(folder, { changedMs: ctimeMs, entries });
      return entries;
    } catch (error) {
      const code = errorCode(error);
      if (code === undefined) throw error;
      return code === "ENOENT" || code === "ENOTDIR" ? "none" : "unreadable";
    }
  }
}
