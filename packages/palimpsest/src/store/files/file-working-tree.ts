import { constants } from "node:fs";
import { access, lstat, readdir, readFile } from "node:fs/promises";
import { delimiter, join, resolve, sep } from "node:path";
import type { ClockDep } from "../../ports/clock-dep.ts";
import type { Presence, WorkingTree } from "../../ports/working-tree.ts";
import type { Millis } from "../../schema/brand.ts";
import { field, isObject, parseJson } from "../../schema/json.ts";
import { treeEntriesMax, treeFreshMs } from "../limits.ts";
import { isAbsent } from "./disk.ts";

interface FileWorkingTreeOptions {
  readonly deps: ClockDep;
  readonly root: string;
  /** Folders of programs, as in `PATH`. */
  readonly programFolders: string;
  /** How words are searched for; absent: symbols are not checked. Must not reject. */
  readonly findWords?: WorkingTree["findWords"] | undefined;
}

/** The tree below a folder. Its files are listed once a minute at most; nothing is read but `package.json` and `Makefile`. */
export function fileWorkingTree({ deps, root, programFolders, findWords }: FileWorkingTreeOptions): WorkingTree {
  const folder = resolve(root);
  let listed: { readonly at: Millis; readonly endings: Promise<FileList> } | undefined;
  const list = (): Promise<FileList> => {
    const now = deps.now();
    if (listed === undefined || now - listed.at > treeFreshMs) listed = { at: now, endings: listFiles(folder) };
    return listed.endings;
  };
  return {
    hasPath: (path) => {
      const full = resolve(folder, path);
      return full.startsWith(folder + sep) ? lookAt(full) : Promise.resolve("unknown");
    },
    hasFileEnding: async (path) => {
      const files = await list();
      const named = files.pathsByName.get(lastPart(path)) ?? [];
      if (named.some((file) => file === path || file.endsWith(`/${path}`))) return "there";
      return files.isWhole ? "missing" : "unknown";
    },
    ...(findWords === undefined ? {} : { findWords }),
    hasCommand: async ([program = "", ...words]) => {
      if (words[0] === "run") return findScript(await list(), { folder, script: words[1] ?? "" });
      if (program === "make") return findTarget(folder, words[0] ?? "");
      return words.length === 0 ? findProgram(program, programFolders) : "unknown";
    },
  };
}

async function lookAt(path: string): Promise<Presence> {
  try {
    await lstat(path);
    return "there";
  } catch (error) {
    return isAbsent(error) ? "missing" : "unknown";
  }
}

const lastPart = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

interface FileList {
  /** Files and folders, relative, with forward slashes, by their last part: a thousand names are looked up in one list. */
  readonly pathsByName: ReadonlyMap<string, readonly string[]>;
  readonly isWhole: boolean;
}

const skippedFolders: ReadonlySet<string> = new Set([".git", "node_modules", ".venv", "__pycache__"]);

/** Breadth first, so that a tree that is too large is at least known near its root. Links are not followed. */
async function listFiles(root: string): Promise<FileList> {
  const pathsByName = new Map<string, string[]>();
  let count = 0;
  const folders = [""];
  for (let at = 0; at < folders.length; at += 1) {
    const inside = folders[at] ?? "";
    const entries = await readdir(join(root, inside), { withFileTypes: true }).catch(() => undefined);
    if (entries === undefined) return { pathsByName, isWhole: false };
    for (const entry of entries) {
      if (count >= treeEntriesMax) return { pathsByName, isWhole: false };
      const path = inside === "" ? entry.name : `${inside}/${entry.name}`;
      count += 1;
      const same = pathsByName.get(entry.name);
      if (same === undefined) pathsByName.set(entry.name, [path]);
      else same.push(path);
      if (entry.isDirectory() && !skippedFolders.has(entry.name)) folders.push(path);
    }
  }
  return { pathsByName, isWhole: true };
}

/** In any `package.json` of the tree: a memory seldom says from which folder a script is run. */
async function findScript(
  { pathsByName, isWhole }: FileList,
  { folder, script }: { readonly folder: string; readonly script: string },
): Promise<Presence> {
  const manifests = pathsByName.get("package.json") ?? [];
  if (manifests.length === 0 || manifests.length > manifestsMax) return "unknown";
  for (const path of manifests) {
    const scripts = await readFile(join(folder, path), "utf8").then(readScripts, () => undefined);
    if (scripts === undefined || scripts.has(script)) return scripts === undefined ? "unknown" : "there";
  }
  return isWhole ? "missing" : "unknown";
}

const manifestsMax = 50;

function readScripts(text: string): ReadonlySet<string> | undefined {
  try {
    const manifest = parseJson(text);
    const scripts = isObject(manifest) ? field(manifest, "scripts") : undefined;
    return new Set(isObject(scripts) ? Object.keys(scripts) : []);
  } catch {
    return undefined;
  }
}

/** A Makefile that includes others or has patterns may have any target. */
async function findTarget(folder: string, target: string): Promise<Presence> {
  const text = await readFile(join(folder, "Makefile"), "utf8").catch(() => undefined);
  if (text === undefined) return "unknown";
  const targets = [...text.matchAll(/^([^\s#:=][^#:=\n]*):(?!=)/gm)].flatMap(([, names = ""]) =>
    names.trim().split(/\s+/),
  );
  if (targets.includes(target)) return "there";
  return /^\s*-?include\b|%|\$\(/m.test(text) ? "unknown" : "missing";
}

async function findProgram(program: string, folders: string): Promise<Presence> {
  for (const folder of folders.split(delimiter).filter((one) => one !== "")) {
    const isThere = await access(join(folder, program), constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return "there";
  }
  return process.platform === "win32" || folders === "" ? "unknown" : "missing";
}
