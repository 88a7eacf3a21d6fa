import { isAbsolute, join, relative } from "node:path";
import {
  type SettingName,
  settingTable,
  type SandboxMode,
  sandboxModeNames,
} from "palimpsest/internal/schema/setting-table";
import { type LoadedFile, realPath } from "./scope-files.ts";
import { projectsKey } from "./parse-settings.ts";
import type { Problem } from "palimpsest/internal/settings/problem";

/** The user's decision about a project; `unasked` if there is none yet. */
export type Trust = "unasked" | "trusted" | "refused";

/** A setting in a project's file that does not count until the project is trusted. */
export interface UntrustedPart {
  readonly key: SettingName;
  readonly value: unknown;
  /** The file's path. */
  readonly from: string;
}

interface NarrowedFile {
  readonly file: LoadedFile;
  readonly untrusted: readonly UntrustedPart[];
}

interface ProjectTrust {
  readonly trust: Trust;
  /** The project's folder. */
  readonly root: string;
}

/**
 * A project's files, including the local one, may come with a clone: they may forbid things, but not allow, run or
 * choose anything unless the user trusts the project. A setting that would widen permissions is left out and reported.
 */
export function narrowProjectFile(file: LoadedFile, { trust, root }: ProjectTrust): NarrowedFile {
  if (file.scope === "user") return { file, untrusted: [] };
  const values = new Map(file.parsed.values);
  const problems: Problem[] = [];
  const untrusted: UntrustedPart[] = [];
  const warn = (key: string, what: string): void => {
    problems.push({ severity: "warning", where: file.path, key, what });
  };
  for (const [key, value] of file.parsed.values) {
    const fate = judgeSetting({ key, value, trust });
    if (fate === "counts") continue;
    values.delete(key);
    if (fate === "yours") warn(key, onlyYours);
    else untrusted.push({ key, value, from: file.path });
  }
  if (untrusted.length > 0) warn("", formatUntrusted(untrusted, { trust, root }));
  if (file.parsed.projects.length > 0) warn(projectsKey, onlyYours);
  const parsed = { ...file.parsed, values, problems: [...file.parsed.problems, ...problems] };
  return { file: { ...file, parsed }, untrusted };
}

function judgeSetting({
  key,
  value,
  trust,
}: {
  readonly key: SettingName;
  readonly value: unknown;
  readonly trust: Trust;
}): "counts" | "untrusted" | "yours" {
  const { byProject } = settingTable[key];
  if (isEmpty(value) || byProject === "anything") return "counts";
  if (byProject === "yours") return "yours";
  const isNarrower = byProject !== "nothing" && byProject.narrows(value);
  return trust === "trusted" || isNarrower ? "counts" : "untrusted";
}

/** An empty list adds nothing. */
const isEmpty = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

const onlyYours = "counts only in your own settings; ignored";

/** A single line, however many parts there are. */
function formatUntrusted(untrusted: readonly UntrustedPart[], { trust, root }: ProjectTrust): string {
  const keys = untrusted.map(({ key }) => key).join(", ");
  if (trust === "refused") return `you don't trust this project, so these do not count: ${keys}`;
  const how = `"trustedProjects": [${JSON.stringify(root)}] in your own settings trusts it`;
  return `this project is not trusted, so these do not count: ${keys} (${how})`;
}

const expandHome = (folder: string, userHome: string | undefined): string =>
  folder.startsWith("~/") && userHome !== undefined ? join(userHome, folder.slice(2)) : folder;

/** The real path of a project's folder as written in a settings file: `~/work/site/`. */
export const projectFolder = (written: string, userHome: string | undefined): string =>
  realPath(expandHome(written, userHome).replace(/(?<=.)\/+$/, ""));

export interface TrustLists {
  readonly trusted: readonly string[];
  readonly refused: readonly string[];
  /** What `~` stands for; undefined if unknown. */
  readonly userHome: string | undefined;
}

/** Both lists name folders and include everything below them. A folder in both lists is not trusted. */
export function findTrust(root: string, { trusted, refused, userHome }: TrustLists): Trust {
  const here = realPath(root);
  const holds = (folder: string): boolean => {
    const named = expandHome(folder, userHome);
    if (!isAbsolute(named)) return false;
    const inside = relative(realPath(named), here);
    return inside === "" || (inside !== ".." && !inside.startsWith("../") && !isAbsolute(inside));
  };
  if (refused.some(holds)) return "refused";
  return trusted.some(holds) ? "trusted" : "unasked";
}

/**
 * Returns the same files, weakest first. A project's file, trusted or not, may ask for a stronger sandbox but never for
 * a weaker one than the files before it give: such a setting is left out with a warning.
 */
export function strengthenSandbox(files: readonly LoadedFile[]): readonly LoadedFile[] {
  let current: SandboxMode = settingTable.sandbox.default;
  return files.map((file) => {
    const requested = sandboxModeNames.find((name) => name === file.parsed.values.get("sandbox"));
    if (requested === undefined) return file;
    if (file.scope !== "user" && strongerMode(current, requested) !== requested) return withoutSandbox(file);
    current = requested;
    return file;
  });
}

export const strongerMode = (one: SandboxMode, other: SandboxMode): SandboxMode =>
  sandboxModeNames.indexOf(one) > sandboxModeNames.indexOf(other) ? one : other;

function withoutSandbox(file: LoadedFile): LoadedFile {
  const values = new Map(file.parsed.values);
  values.delete("sandbox");
  const what =
    "the settings of a project may only strengthen the sandbox; ignored: set it in your own settings, or with --sandbox";
  const problems = [...file.parsed.problems, { severity: "warning", where: file.path, key: "sandbox", what } as const];
  return { ...file, parsed: { ...file.parsed, values, problems } };
}
