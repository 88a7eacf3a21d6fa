import type { ReadFiles } from "palimpsest/internal/ports/tools";
import { type FileRead, readWhole } from "./open.ts";

/** What stands on disk, if the agent knows it: what it has not seen, or what changed since, is not overwritten. */
export type Seen =
  | { readonly kind: "seen"; readonly file: Extract<FileRead, { kind: "file" }> }
  | { readonly kind: "absent" }
  | { readonly kind: "refused"; readonly message: string };

export async function seenOnDisk(files: ReadFiles, path: string): Promise<Seen> {
  const file = await readWhole(path);
  if (file.kind !== "file") return file;
  const known = files.get(path);
  if (known === undefined) return { kind: "refused", message: `${path}: read it first, then change it` };
  if (known.hash !== file.hash) {
    return { kind: "refused", message: `${path}: it has changed since you read it; read it again, then change it` };
  }
  return { kind: "seen", file };
}

/** The result of a change names the file but does not show it: a later read does. */
export const nothingShown = { from: 1, to: 0 } as const;
