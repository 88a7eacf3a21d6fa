import type { ReadFile, ReadFiles } from "../ports/tools.ts";
import { readFilesMax } from "./limits.ts";

/** The newest `readFilesMax` files; a forgotten one has to be read again before it can be changed. */
export function readFiles(from: Iterable<readonly [string, ReadFile]> = []): ReadFiles {
  const readByPath = new Map<string, ReadFile>();
  const set = (path: string, read: ReadFile): void => {
    // Set anew, so that the map's order is by age.
    readByPath.delete(path);
    readByPath.set(path, read);
    for (const oldest of readByPath.keys()) {
      if (readByPath.size <= readFilesMax) break;
      readByPath.delete(oldest);
    }
  };
  for (const [path, read] of from) set(path, read);
  return {
    get: (path) => readByPath.get(path),
    set,
    delete: (path) => void readByPath.delete(path),
    copy: () => readFiles(readByPath),
    entries: () => readByPath.entries(),
  };
}
