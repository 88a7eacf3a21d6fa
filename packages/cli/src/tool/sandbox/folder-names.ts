import { lstat, readdir } from "node:fs/promises";
import { codeOf } from "../failure.ts";
import { folderSettledMs } from "./limits.ts";

export interface FolderEntry {
  readonly name: string;
  readonly kind: "folder" | "link" | "other";
}

/**
 * The names in folders, read again only where a folder has changed: to look at each costs a tenth of reading it. By the
 * time of its last change, which no program can set, unlike that of its last modification.
 */
export class FolderNames {
  readonly #readByFolder = new Map<string, { readonly changedMs: number; readonly entries: readonly FolderEntry[] }>();

  /** `unreadable`: it is there, and its names can't be told. `none`: there is no such folder. */
  async read(folder: string): Promise<readonly FolderEntry[] | "unreadable" | "none"> {
    try {
      const { ctimeMs } = await lstat(folder);
      const kept = this.#readByFolder.get(folder);
      if (kept?.changedMs === ctimeMs) return kept.entries;
      const entries = (await readdir(folder, { withFileTypes: true })).map((entry): FolderEntry => ({
        name: entry.name,
        kind: entry.isDirectory() ? "folder" : entry.isSymbolicLink() ? "link" : "other",
      }));
      // One that changed just now may change again within the same tick of the clock.
      if (ctimeMs < Date.now() - folderSettledMs) this.#readByFolder.set(folder, { changedMs: ctimeMs, entries });
      return entries;
    } catch (error) {
      const code = codeOf(error);
      if (code === undefined) throw error;
      return code === "ENOENT" || code === "ENOTDIR" ? "none" : "unreadable";
    }
  }
}
