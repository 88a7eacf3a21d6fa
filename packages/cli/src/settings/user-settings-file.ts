import { lstat, readFile } from "node:fs/promises";
import { homedir } from "node:os";
import type { WriteFailure } from "palimpsest/internal/ports/blobs";
import { isObject, type JsonObject, parseJson, field, isArray } from "palimpsest/internal/schema/json";
import { findDuplicateKeys, realPath } from "./scope-files.ts";
import type { ReplaceFileDep } from "./learn-window.ts";
import { settingsFileBytesMax } from "palimpsest/internal/settings/limits";
import { projectFolder } from "./narrow-project-file.ts";
import { projectsKey } from "./parse-settings.ts";
import type { SettingName } from "palimpsest/internal/schema/setting-table";
import { approvedKey, refusedKey } from "palimpsest/internal/schema/server-definition";

interface ProjectAddition {
  /** The user's own settings file; it may be missing. */
  readonly path: string;
  /** The project's folder. */
  readonly root: string;
  /** What `~` stands for in the file. Absent: the user's home folder. */
  readonly userHome?: string;
}

export type SettingsAddOutcome =
  | { readonly kind: "added" }
  /** It is already in the file: nothing was written. */
  | { readonly kind: "known" }
  | UserSettingsRefusal
  | WriteFailure;

/** Adds rules to `permissions.allow` of one project. */
export const addAllowRules = (
  deps: ReplaceFileDep,
  { rules, ...addition }: ProjectAddition & { readonly rules: readonly string[] },
): Promise<SettingsAddOutcome> =>
  changeProject(deps, {
    ...addition,
    change: (project, name) => {
      const permissions = field(project, "permissions") ?? {};
      if (!isObject(permissions)) return `its permissions for ${name} are not an object`;
      const allow = field(permissions, "allow") ?? [];
      if (!isArray(allow)) return `its permissions.allow for ${name} is not a list`;
      const added = [...new Set(rules)].filter((rule) => !allow.includes(rule));
      if (added.length === 0) return undefined;
      return { ...project, permissions: { ...permissions, allow: [...allow, ...added] } };
    },
  });

/** Adds files to a list of one project. */
export const addImports = (
  deps: ReplaceFileDep,
  {
    key,
    files,
    ...addition
  }: ProjectAddition & { readonly key: "allowedImports" | "refusedImports"; readonly files: readonly string[] },
): Promise<SettingsAddOutcome> =>
  changeProject(deps, {
    ...addition,
    change: (project, name) => {
      const before = field(project, key) ?? [];
      if (!isArray(before)) return `its ${key} for ${name} is not a list`;
      const added = [...new Set(files)].filter((file) => !before.includes(file));
      return added.length === 0 ? undefined : { ...project, [key]: [...before, ...added] };
    },
  });

interface ProjectChange extends ProjectAddition {
  /** The changed section; undefined if it holds everything already; a text is the reason why it can't be changed. */
  readonly change: (project: JsonObject, name: string) => JsonObject | string | undefined;
}

/**
 * Changes the section of one project and keeps the rest of the file. An unreadable file is not overwritten. Two
 * processes that write at the same instant may lose a change: the user is asked again.
 */
async function changeProject(
  deps: ReplaceFileDep,
  { path, root, userHome = homedir(), change }: ProjectChange,
): Promise<SettingsAddOutcome> {
  const read = await readUserSettings(path);
  if (read.kind === "refused") return read;
  const projects = field(read.settings, projectsKey) ?? {};
  if (!isObject(projects)) return refuseUserSettings(path, "its projects is not an object");
  const here = realPath(root);
  const name = Object.keys(projects).find((one) => projectFolder(one, userHome) === here) ?? here;
  const project = field(projects, name) ?? {};
  if (!isObject(project)) return refuseUserSettings(path, `its section for ${name} is not an object`);
  const changed = change(project, name);
  if (changed === undefined) return { kind: "known" };
  if (typeof changed === "string") return refuseUserSettings(path, changed);
  const settings: JsonObject = { ...read.settings, [projectsKey]: { ...projects, [name]: changed } };
  const failure = await writeUserSettings(deps, { path, settings, indent: read.indent });
  return failure ?? { kind: "added" };
}

interface ListAddition {
  /** The user's own settings file; it may be missing. */
  readonly path: string;
  readonly key: SettingName;
  readonly items: readonly string[];
}

/**
 * Adds texts to a list and keeps the rest of the file. Two processes that write at the same instant may lose one: the
 * user is asked again.
 */
export async function addToList(deps: ReplaceFileDep, { path, key, items }: ListAddition): Promise<SettingsAddOutcome> {
  const read = await readUserSettings(path);
  if (read.kind === "refused") return read;
  const before = field(read.settings, key) ?? [];
  if (!isArray(before)) return refuseUserSettings(path, `its ${key} is not a list`);
  const added = [...new Set(items)].filter((one) => !before.includes(one));
  if (added.length === 0) return { kind: "known" };
  const settings: JsonObject = { ...read.settings, [key]: [...before, ...added] };
  const failure = await writeUserSettings(deps, { path, settings, indent: read.indent });
  return failure ?? { kind: "added" };
}

export interface ApproveServersInput {
  /** The user's own settings file; it may be missing. */
  readonly path: string;
  /** From `pendingApprovals`. */
  readonly approvals: readonly string[];
  readonly as: "approved" | "refused";
}

const keyByDecision = { approved: approvedKey, refused: refusedKey } as const;

/** Records which server definitions the user has approved, or has refused for good. */
export const approveServers = (
  deps: ReplaceFileDep,
  { path, approvals, as }: ApproveServersInput,
): Promise<SettingsAddOutcome> => addToList(deps, { path, key: keyByDecision[as], items: approvals });

type UserSettingsOutcome =
  | {
      readonly kind: "read";
      readonly settings: JsonObject;
      /** As the file is indented; two spaces if it is not. */
      readonly indent: string;
    }
  | UserSettingsRefusal;

/** The file can't be edited safely and is left alone. */
interface UserSettingsRefusal {
  readonly kind: "refused";
  readonly why: string;
}

/**
 * Reads a settings file in order to change it: an unreadable file is refused, so it is never overwritten. A missing
 * file counts as empty.
 */
async function readUserSettings(path: string): Promise<UserSettingsOutcome> {
  try {
    const stats = await lstat(path);
    // Replacing a link would detach it from the file that the user maintains.
    if (!stats.isFile()) return refuseUserSettings(path, "it is not a regular file");
    if (stats.size > settingsFileBytesMax) return refuseUserSettings(path, "it is too large for settings");
    const text = await readFile(path, "utf8");
    const settings = parseJson(text.replace(/^\uFEFF/, ""));
    if (!isObject(settings)) return refuseUserSettings(path, "it does not hold a JSON object");
    const [duplicate] = findDuplicateKeys(text);
    return duplicate === undefined
      ? { kind: "read", settings, indent: /^([ \t]+)"/m.exec(text)?.[1] ?? indentDefault }
      : refuseUserSettings(path, `${duplicate} is in it twice, and one of them would be lost`);
  } catch (error) {
    if (error instanceof SyntaxError) return refuseUserSettings(path, "it is not valid JSON");
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
