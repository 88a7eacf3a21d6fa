import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { errorCode } from "palimpsest/internal/store/files/disk";

type FilesBelow =
  | { readonly kind: "files"; readonly paths: readonly string[] }
  | { readonly kind: "missing" }
  | { readonly kind: "unreadable"; readonly message: string };

/** A folder with more files holds no sessions: the user probably named the root of a disk. */
const filesMax = 100_000;

/** Folders that hold no sessions and many files. */
const skippedFolders: ReadonlySet<string> = new Set(["node_modules", ".git"]);

/** A file itself, or all files below a folder, sorted by name. Links are not followed: they may lead in circles. */
export async function filesBelow(path: string): Promise<FilesBelow> {
  const paths: string[] = [];
  try {
    if (!(await stat(path)).isDirectory()) return { kind: "files", paths: [path] };
    await collect(path, paths);
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") return { kind: "missing" };
    return { kind: "unreadable", message: error instanceof Error ? error.message : String(error) };
  }
  return paths.length > filesMax
    ? { kind: "unreadable", message: `more than ${filesMax} files: name a folder further down` }
    : { kind: "files", paths };
}

async function collect(folder: string, paths: string[]): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true });
  for (const entry of entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    if (paths.length > filesMax) return;
    if (entry.isFile()) paths.push(join(folder, entry.name));
    else if (entry.isDirectory() && !skippedFolders.has(entry.name)) await collect(join(folder, entry.name), paths);
  }
}
