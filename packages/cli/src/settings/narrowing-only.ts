import { isAbsolute, join, relative } from "node:path";
import { type SettingName, settingTable } from "palimpsest/internal/schema/settings";
import { type ReadFile, realPath } from "./files.ts";
import { projectsKey } from "./parse.ts";
import type { Problem } from "palimpsest/internal/settings/problem";

/** What the user said of a project: nothing yet, yes, or no. */
export type Trust = "unasked" | "trusted" | "refused";

/** Something that a project's file says and that does not count until the project is trusted. */
export interface UntrustedPart {
  readonly key: SettingName;
  readonly value: unknown;
  /** The file. */
  readonly from: string;
}

export interface NarrowedFile {
  readonly file: ReadFile;
  readonly untrusted: readonly UntrustedPart[];
}

export interface TrustIn {
  readonly trust: Trust;
  /** The project's folder. */
  readonly root: string;
}

/**
 * A project's files, the local one too, may come with a clone: they may forbid, and may neither allow nor run nor choose
 * anything, unless the user trusts the project. What would widen what counts without them is left out and said.
 */
export function narrowingOnly(file: ReadFile, { trust, root }: TrustIn): NarrowedFile {
  if (file.scope === "user") return { file, untrusted: [] };
  const values = new Map(file.parsed.values);
  const problems: Problem[] = [];
  const untrusted: UntrustedPart[] = [];
  const warn = (key: string, what: string): void => {
    problems.push({ severity: "warning", where: file.path, key, what });
  };
  for (const [key, value] of file.parsed.values) {
    const fate = fateOf({ key, value, trust });
    if (fate === "counts") continue;
    values.delete(key);
    if (fate === "yours") warn(key, onlyYours);
    else untrusted.push({ key, value, from: file.path });
  }
  if (untrusted.length > 0) warn("", untrustedText(untrusted, { trust, root }));
  if (file.parsed.projects.length > 0) warn(projectsKey, onlyYours);
  const parsed = { ...file.parsed, values, problems: [...file.parsed.problems, ...problems] };
  return { file: { ...file, parsed }, untrusted };
}

interface Said {
  readonly key: SettingName;
  readonly value: unknown;
  readonly trust: Trust;
}

function fateOf({ key, value, trust }: Said): "counts" | "untrusted" | "yours" {
  const { byProject } = settingTable[key];
  if (isEmpty(value) || byProject === "anything") return "counts";
  if (byProject === "yours") return "yours";
  const isNarrower = byProject !== "nothing" && byProject.narrows(value);
  return trust === "trusted" || isNarrower ? "counts" : "untrusted";
}

/** An empty list adds nothing. */
const isEmpty = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

const onlyYours = "counts only in your own settings; ignored";

/** One line, however much it is. */
function untrustedText(untrusted: readonly UntrustedPart[], { trust, root }: TrustIn): string {
  const keys = untrusted.map(({ key }) => key).join(", ");
  if (trust === "refused") return `you don't trust this project, so these do not count: ${keys}`;
  const how = `"trustedProjects": [${JSON.stringify(root)}] in your own settings trusts it`;
  return `this project is not trusted, so these do not count: ${keys} (${how})`;
}

export const expandHome = (folder: string, userHome: string | undefined): string =>
  folder.startsWith("~/") && userHome !== undefined ? join(userHome, folder.slice(2)) : folder;

export interface TrustLists {
  readonly trusted: readonly string[];
  readonly refused: readonly string[];
  /** What `~` stands for; undefined where nobody knows. */
  readonly userHome: string | undefined;
}

/** Both lists name folders, with all that is below them. Who stands in both is not trusted. */
export function trustOf(root: string, { trusted, refused, userHome }: TrustLists): Trust {
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
