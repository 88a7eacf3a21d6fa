import { lstat, readFile } from "node:fs/promises";
import type { WriteFailure } from "palimpsest/internal/ports/blobs";
import { isObject, type JsonObject, parseJson, field, isArray } from "palimpsest/internal/schema/json";
import { findDuplicateKeys, realPath } from "./scope-files.ts";
import type { ReplaceFileDep } from "./learn-window.ts";
import { settingsFileBytesMax } from "palimpsest/internal/settings/limits";
import { projectsKey } from "./parse-settings.ts";
import type { SettingName } from "palimpsest/internal/schema/setting-table";
import { approvedKey, refusedKey } from "palimpsest/internal/schema/server-definition";

type UserSettingsOutcome =
  | {
      readonly kind: "read";
      readonly settings: JsonObject;
      /** As the file has it; two spaces where it has none. */
      readonly indent: string;
    }
  | UserSettingsRefusal;

/** The file is not as it should be, and is left alone. */
interface UserSettingsRefusal {
  readonly kind: "refused";
  readonly why: string;
}

/** A settings file that is to be written: what can't be read is not written over. A file that is not there is empty. */
async function readUserSettings(path: string): Promise<UserSettingsOutcome> {
  try {
    const seen = await lstat(path);
    // Replacing it would cut a file off from where its person keeps it.
    if (!seen.isFile()) return refuseUserSettings(path, "it is a link or no file");
    if (seen.size > settingsFileBytesMax) return refuseUserSettings(path, "it is too large for settings");
    const text = await readFile(path, "utf8");
    const settings = parseJson(text.replace(/^\uFEFF/, ""));
    if (!isObject(settings)) return refuseUserSettings(path, "it holds no object");
    const [doubled] = findDuplicateKeys(text);
    return doubled === undefined
      ? { kind: "read", settings, indent: /^([ \t]+)"/m.exec(text)?.[1] ?? indentDefault }
      : refuseUserSettings(path, `${doubled} stands in it twice, and one would be lost`);
  } catch (error) {
    if (error instanceof SyntaxError) return refuseUserSettings(path, "it is no JSON");
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (code === "") throw error;
    return code === "ENOENT"
      ? { kind: "read", settings: {}, indent: indentDefault }
      : refuseUserSettings(path, `it can't be read (${code})`);
  }
}

const indentDefault = "  ";

const refuseUserSettings = (path: string, why: string): UserSettingsRefusal => ({
  kind: "refused",
  why: `${path} was not changed: ${why}.`,
});

const writeUserSettings = (
  { replaceFile }: ReplaceFileDep,
  { path, settings, indent }: { readonly path: string; readonly settings: JsonObject; readonly indent: string },
): Promise<WriteFailure | undefined> => replaceFile(path, `${JSON.stringify(settings, undefined, indent)}\n`);

interface ProjectAllowRules {
  /** Of the user's own settings file; it need not be there. */
  readonly path: string;
  /** The project's folder. */
  readonly root: string;
  readonly rules: readonly string[];
}

export type SettingsAddOutcome =
  | { readonly kind: "added" }
  /** It stands there already: nothing was written. */
  | { readonly kind: "known" }
  | UserSettingsRefusal
  | WriteFailure;

/**
 * Writes rules into `permissions.allow` of one project and keeps everything else of the file. What can't be read is not
 * written over. Two processes that write at the same instant may lose a rule: the person is asked again.
 */
export async function addAllowRules(
  deps: ReplaceFileDep,
  { path, root, rules }: ProjectAllowRules,
): Promise<SettingsAddOutcome> {
  const read = await readUserSettings(path);
  if (read.kind === "refused") return read;
  const projects = field(read.settings, projectsKey) ?? {};
  if (!isObject(projects)) return refuseUserSettings(path, "its projects are no object");
  const here = realPath(root);
  const name = Object.keys(projects).find((one) => realPath(one) === here) ?? here;
  const project = field(projects, name) ?? {};
  if (!isObject(project)) return refuseUserSettings(path, `what it says for ${name} is no object`);
  const permissions = field(project, "permissions") ?? {};
  if (!isObject(permissions)) return refuseUserSettings(path, `its permissions for ${name} are no object`);
  const allow = field(permissions, "allow") ?? [];
  if (!isArray(allow)) return refuseUserSettings(path, `its permissions.allow for ${name} is no list`);
  const news = [...new Set(rules)].filter((rule) => !allow.includes(rule));
  if (news.length === 0) return { kind: "known" };
  const widened = { ...project, permissions: { ...permissions, allow: [...allow, ...news] } };
  const settings: JsonObject = { ...read.settings, [projectsKey]: { ...projects, [name]: widened } };
  const failure = await writeUserSettings(deps, { path, settings, indent: read.indent });
  return failure ?? { kind: "added" };
}

interface ListAddition {
  /** Of the user's own settings file; it need not be there. */
  readonly path: string;
  readonly key: SettingName;
  readonly items: readonly string[];
}

/**
 * Adds to a list of texts and keeps everything else of the file. Two processes that write at the same instant may lose
 * one: the user is asked again.
 */
export async function addToList(deps: ReplaceFileDep, { path, key, items }: ListAddition): Promise<SettingsAddOutcome> {
  const read = await readUserSettings(path);
  if (read.kind === "refused") return read;
  const before = field(read.settings, key) ?? [];
  if (!isArray(before)) return refuseUserSettings(path, `its ${key} is no list`);
  const news = [...new Set(items)].filter((one) => !before.includes(one));
  if (news.length === 0) return { kind: "known" };
  const settings: JsonObject = { ...read.settings, [key]: [...before, ...news] };
  const failure = await writeUserSettings(deps, { path, settings, indent: read.indent });
  return failure ?? { kind: "added" };
}

export interface ApproveServersInput {
  /** Of the person's own settings file; it need not be there. */
  readonly path: string;
  /** As `pendingApprovals` gives them. */
  readonly approvals: readonly string[];
  readonly as: "approved" | "refused";
}

const keyByDecision = { approved: approvedKey, refused: refusedKey } as const;

/** Writes down of which definitions a person has approved, or which they want to hear of no more. */
export const approveServers = (
  deps: ReplaceFileDep,
  { path, approvals, as }: ApproveServersInput,
): Promise<SettingsAddOutcome> => addToList(deps, { path, key: keyByDecision[as], items: approvals });
