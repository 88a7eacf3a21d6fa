import { mkdirSync, rmdirSync } from "node:fs";
import { codeOf } from "../failure.ts";

/**
 * Empty folders that are there only to be mounted on, while a command runs that must not create anything of that name.
 * Commands run beside each other: the last that needs one removes it. Each step is made at once, as a folder that is
 * removed between another command's look at it and its mount would hold nothing.
 */
export class MountPoints {
  readonly #countByPath = new Map<string, number>();

  /** Whether the folder at this path is one of these, and not the user's. */
  has(path: string): boolean {
    return this.#countByPath.has(path);
  }

  /** Makes them; gives how to take that back. Throws if one can't be made. */
  hold(paths: readonly string[]): () => void {
    const held: string[] = [];
    const release = (): void => {
      for (const path of held.splice(0)) this.#release(path);
    };
    try {
      for (const path of paths) {
        this.#countByPath.set(path, (this.#countByPath.get(path) ?? 0) + 1);
        held.push(path);
        makeFolder(path);
      }
    } catch (error) {
      release();
      throw error;
    }
    return release;
  }

  #release(path: string): void {
    const count = (this.#countByPath.get(path) ?? 0) - 1;
    if (count > 0) return void this.#countByPath.set(path, count);
    this.#countByPath.delete(path);
    removeFolder(path);
  }
}

function makeFolder(path: string): void {
  try {
    mkdirSync(path);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
}

/** If somebody has put something into it meanwhile, or removed it, it is theirs. */
function removeFolder(path: string): void {
  try {
    rmdirSync(path);
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
  }
}
