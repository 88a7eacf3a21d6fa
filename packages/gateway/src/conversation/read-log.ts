import { readFile } from "node:fs/promises";
import { isAbsent } from "palimpsest/internal/store/files/disk";

/**
 * The lines of a log that is written anew after it was read. Only a log that is not there is empty: one that can't be read must
 * not be replaced.
 */
export async function readLogLines(path: string): Promise<readonly string[]> {
  try {
    return (await readFile(path, "utf8")).split("\n").filter((text) => text !== "");
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
}
