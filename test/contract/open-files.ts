import { readdir, readlink } from "node:fs/promises";
import { join } from "node:path";

/** The files below a folder that this process has open, also deleted ones. Empty on a system that does not tell. */
export async function openFiles(folder: string): Promise<readonly string[]> {
  const names = await readdir("/proc/self/fd").catch(() => []);
  const paths = await Promise.all(names.map((name) => readlink(join("/proc/self/fd", name)).catch(() => "")));
  return paths.filter((path) => path.startsWith(join(folder, "/")));
}
