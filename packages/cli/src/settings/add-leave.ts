import type { WriteFailure } from "palimpsest/internal/ports/blobs";
import { field, isArray, isObject, type JsonObject } from "palimpsest/internal/schema/json";
import { realPath } from "./files.ts";
import type { ReplaceFileDep } from "./learned-windows.ts";
import { readOwn, type Refused, refused, writeOwn } from "./own-file.ts";
import { projectsKey } from "./parse.ts";

export interface ProjectRules {
  /** Of the user's own settings file; it need not be there. */
  readonly path: string;
  /** The project's folder. */
  readonly root: string;
  readonly rules: readonly string[];
}

export type LeaveAdded =
  | { readonly kind: "added" }
  /** It stands there already: nothing was written. */
  | { readonly kind: "known" }
  | Refused
  | WriteFailure;

/**
 * Writes rules into `permissions.allow` of one project and keeps everything else of the file. What can't be read is not
 * written over. Two processes that write at the same instant may lose a rule: the person is asked again.
 */
export async function addLeave(deps: ReplaceFileDep, { path, root, rules }: ProjectRules): Promise<LeaveAdded> {
  const read = await readOwn(path);
  if (read.kind === "refused") return read;
  const projects = field(read.settings, projectsKey) ?? {};
  if (!isObject(projects)) return refused(path, "its projects are no object");
  const here = realPath(root);
  const name = Object.keys(projects).find((one) => realPath(one) === here) ?? here;
  const project = field(projects, name) ?? {};
  if (!isObject(project)) return refused(path, `what it says for ${name} is no object`);
  const permissions = field(project, "permissions") ?? {};
  if (!isObject(permissions)) return refused(path, `its permissions for ${name} are no object`);
  const allow = field(permissions, "allow") ?? [];
  if (!isArray(allow)) return refused(path, `its permissions.allow for ${name} is no list`);
  const news = [...new Set(rules)].filter((rule) => !allow.includes(rule));
  if (news.length === 0) return { kind: "known" };
  const widened = { ...project, permissions: { ...permissions, allow: [...allow, ...news] } };
  const settings: JsonObject = { ...read.settings, [projectsKey]: { ...projects, [name]: widened } };
  const failure = await writeOwn(deps, { path, settings, indent: read.indent });
  return failure ?? { kind: "added" };
}
