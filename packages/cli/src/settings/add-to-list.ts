import { field, isArray, type JsonObject } from "palimpsest/internal/schema/json";
import type { SettingName } from "palimpsest/internal/schema/settings";
import type { LeaveAdded } from "./add-leave.ts";
import type { ReplaceFileDep } from "./learned-windows.ts";
import { readOwn, refused, writeOwn } from "./own-file.ts";

export interface ListAddition {
  /** Of the user's own settings file; it need not be there. */
  readonly path: string;
  readonly key: SettingName;
  readonly items: readonly string[];
}

/**
 * Adds to a list of texts and keeps everything else of the file. Two processes that write at the same instant may lose
 * one: the user is asked again.
 */
export async function addToList(deps: ReplaceFileDep, { path, key, items }: ListAddition): Promise<LeaveAdded> {
  const read = await readOwn(path);
  if (read.kind === "refused") return read;
  const before = field(read.settings, key) ?? [];
  if (!isArray(before)) return refused(path, `its ${key} is no list`);
  const news = [...new Set(items)].filter((one) => !before.includes(one));
  if (news.length === 0) return { kind: "known" };
  const settings: JsonObject = { ...read.settings, [key]: [...before, ...news] };
  const failure = await writeOwn(deps, { path, settings, indent: read.indent });
  return failure ?? { kind: "added" };
}
