import type { WriteFailure } from "../ports/blobs.ts";
import { field, isArray, isObject, type JsonObject } from "../schema/json.ts";
import type { ReplaceFileDep } from "./learned-windows.ts";
import { readOwn, type Refused, refused, writeOwn } from "./own-file.ts";

export interface LeaveInFile {
  /** Of the settings file; it need not be there. */
  readonly path: string;
  readonly rule: string;
}

export type LeaveAdded =
  | { readonly kind: "added" }
  /** It stands there already: nothing was written. */
  | { readonly kind: "known" }
  | Refused
  | WriteFailure;

/**
 * Writes a rule into `permissions.allow` and keeps everything else of the file. What can't be read is not written over.
 * Two processes that write at the same instant may lose one rule: the person is asked again.
 */
export async function addLeave(deps: ReplaceFileDep, { path, rule }: LeaveInFile): Promise<LeaveAdded> {
  const read = await readOwn(path);
  if (read.kind === "refused") return read;
  const permissions = field(read.settings, "permissions") ?? {};
  if (!isObject(permissions)) return refused(path, "its permissions are no object");
  const allow = field(permissions, "allow") ?? [];
  if (!isArray(allow)) return refused(path, "its permissions.allow is no list");
  if (allow.includes(rule)) return { kind: "known" };
  const settings: JsonObject = { ...read.settings, permissions: { ...permissions, allow: [...allow, rule] } };
  const failure = await writeOwn(deps, { path, settings, indent: read.indent });
  return failure ?? { kind: "added" };
}
