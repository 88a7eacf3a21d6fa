import { dirname, isAbsolute, join, relative } from "node:path";
import type { SettingName } from "../schema/settings.ts";
import type { ReadFile } from "./files.ts";
import type { Problem } from "./problem.ts";

export interface Trust {
  /** As the person's own settings name them. */
  readonly folders: readonly string[];
  /** What `~` stands for; undefined where nobody knows. */
  readonly userHome: string | undefined;
}

/**
 * A project's files, the local one too, may come with a clone: they may forbid, and may neither allow nor run anything,
 * unless the person trusts the project. What would widen what the person allowed is left out and said.
 */
export function narrowingOnly(file: ReadFile, trust: Trust): ReadFile {
  if (file.scope === "user") return file;
  const values = new Map(file.parsed.values);
  const problems: Problem[] = [];
  const leaveOut = (key: SettingName, what: string): void => {
    values.delete(key);
    problems.push({ severity: "warning", where: file.path, key, what });
  };
  if (hasAny(values.get("trustedProjects"))) leaveOut("trustedProjects", onlyYours);
  if (file.parsed.projects.length > 0)
    problems.push({ severity: "warning", where: file.path, key: "projects", what: onlyYours });
  for (const key of ["approvedMcpServers", "refusedMcpServers"] as const)
    if (hasAny(values.get(key))) leaveOut(key, onlyYours);
  const root = dirname(dirname(file.path));
  if (!isTrusted(root, trust)) {
    const unless = `unless your own settings have ${trustLine(root)}; ignored`;
    if (hasAny(values.get("hooks"))) leaveOut("hooks", `the hooks of a project do not run ${unless}`);
    if (values.has("statusLine")) leaveOut("statusLine", `the statusline command of a project does not run ${unless}`);
    if (hasAny(values.get("permissions.allow")))
      leaveOut("permissions.allow", `rules by which a project allows something do not count ${unless}`);
    const mode = values.get("permissions.defaultMode");
    if (mode !== undefined && mode !== "plan")
      leaveOut("permissions.defaultMode", `the settings of a project may choose no mode but plan ${unless}`);
  }
  return { ...file, parsed: { ...file.parsed, values, problems: [...file.parsed.problems, ...problems] } };
}

const onlyYours = "counts only in your own settings; ignored";

/** As it stands in a settings file. */
const trustLine = (root: string): string => `"trustedProjects": [${JSON.stringify(root)}]`;

const hasAny = (list: unknown): boolean => Array.isArray(list) && list.length > 0;

export const expandHome = (folder: string, userHome: string | undefined): string =>
  folder.startsWith("~/") && userHome !== undefined ? join(userHome, folder.slice(2)) : folder;

function isTrusted(root: string, { folders, userHome }: Trust): boolean {
  return folders.some((folder) => {
    const named = expandHome(folder, userHome);
    if (!isAbsolute(named)) return false;
    const inside = relative(named, root);
    return inside === "" || (!inside.startsWith("..") && !isAbsolute(inside));
  });
}
