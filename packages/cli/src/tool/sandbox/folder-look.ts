import { type Dirent, lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { codeOf } from "../failure.ts";
import { folderSettledMs, lookedFoldersMax } from "./limits.ts";

/** Names in one folder. */
interface Found {
  readonly folders: readonly string[];
  readonly pipes: readonly string[];
  readonly git: "repository" | "none";
}

/**
 * Looks for what no rule names and a command must not touch. Only near the top of a folder, so that every command can wait
 * for it: a folder is read again only when it has changed, and a look at it costs 2 µs.
 */
export class FolderLook {
  readonly #foundByFolder = new Map<string, { readonly changedMs: number; readonly found: Found }>();

  /**
   * Named pipes in it and one level below: a read-only mount does not keep a program from writing to one, and whoever
   * reads it is outside.
   */
  pipesIn(folder: string): readonly string[] {
    return this.#nearby(folder, { levels: 1 }).flatMap((at) => this.#look(at).pipes.map((name) => join(at, name)));
  }

  /** Folders up to two levels below it that are repositories of their own, but for those that builds and installs make. */
  repositoriesIn(folder: string): readonly string[] {
    const nearby = this.#nearby(folder, { levels: 2, without: madeFolders });
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

  #look(folder: string): Found {
    try {
      const { ctimeMs } = lstatSync(folder);
      const kept = this.#foundByFolder.get(folder);
      if (kept?.changedMs === ctimeMs) return kept.found;
      const found = sort(readdirSync(folder, { withFileTypes: true }));
      // One that changed just now may change again within the same tick of the clock.
      if (ctimeMs < Date.now() - folderSettledMs) this.#foundByFolder.set(folder, { changedMs: ctimeMs, found });
      return found;
    } catch (error) {
      if (codeOf(error) === undefined) throw error;
      return { folders: [], pipes: [], git: "none" };
    }
  }
}

/** They come and go, with the repositories in them. */
const madeFolders = /^(?:\.|_|node_modules$|build|dist$|out$|target$|tmp$|venv$)/;

function sort(entries: readonly Dirent[]): Found {
  const namesOf = (is: (entry: Dirent) => boolean): readonly string[] => entries.filter(is).map(({ name }) => name);
  return {
    folders: namesOf((entry) => entry.isDirectory()),
    pipes: namesOf((entry) => entry.isFIFO()),
    git: entries.some((entry) => entry.name === ".git" && entry.isDirectory()) ? "repository" : "none",
  };
}
