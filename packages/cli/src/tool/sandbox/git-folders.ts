import { lstatSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { errorCode } from "../error-code.ts";
import { isInside } from "../resolve-real-path.ts";
import { gitFileBytesMax } from "../limits.ts";
import { gitConfigBytesMax, submodulesMax } from "./limits.ts";

/** Git's files of a project, grouped by what a command may do with them. Real paths. */
export interface GitFolders {
  /** Outside the project: a worktree's own folder, and that of its repository. */
  readonly writable: readonly string[];
  /** Files that name programs for git to run, or lead git to such a file. Includes files that don't exist yet. */
  readonly protected: readonly string[];
  /** Folders that hold the contents of files from the whole history. */
  readonly contents: readonly string[];
  /** Folders whose programs git runs. */
  readonly hooks: readonly string[];
}

/** In a git folder: the worktrees of agents, each of which is writable for its own agent alone. */
export const agentWorktreesName = "palimpsest-worktrees";

/** Synchronous: a check costs a few microseconds, through a thread fifty times that, and every command waits for it. */
export function gitFolders(root: string): GitFolders {
  const git = join(root, ".git");
  const kind = fileKind(git);
  if (kind === "folder") return repositoryFolders({ folder: git, root });
  const protectedOnly: GitFolders = { writable: [], protected: [git], contents: [], hooks: [] };
  const linked = kind === "file" ? findLinkedFolder(git) : undefined;
  if (linked === undefined) return protectedOnly;
  const repository = isWorktreeFolder(linked) ? dirname(dirname(linked)) : linked;
  const found = repositoryFolders({ folder: repository, root });
  return { ...found, writable: [repository], protected: [...protectedOnly.protected, ...found.protected] };
}

interface Repository {
  readonly folder: string;
  /** The worktree. */
  readonly root: string;
}

/** Includes its submodules and worktrees, which it keeps inside itself. */
function repositoryFolders({ folder, root }: Repository): GitFolders {
  const modules = join(folder, "modules");
  const submodules = submoduleFolders(modules);
  const repositories = [folder, ...(submodules ?? [])];
  const worktrees = foldersIn(join(folder, "worktrees"));
  const hooks = hooksFolder({ folder, root });
  const ofAgents = join(folder, agentWorktreesName);
  return {
    writable: [],
    protected: [
      // Git reads config.worktree once the user turns sparse checkouts on, so none may be planted before.
      ...repositories.flatMap((one) =>
        ["hooks", "config", "config.worktree", "commondir"].map((name) => join(one, name)),
      ),
      ...worktrees.flatMap((one) => ["gitdir", "config.worktree", "commondir"].map((name) => join(one, name))),
      ...(hooks === undefined ? [] : [hooks]),
      ...(fileKind(ofAgents) === "folder" ? [ofAgents] : []),
      ...programsOfProject({ folder, root }),
      ...(submodules === undefined ? [modules] : []),
    ],
    contents: [
      ...repositories.flatMap((one) => ["objects", "lfs", "rr-cache"].map((name) => join(one, name))),
      ...(submodules === undefined ? [modules] : []),
    ],
    hooks: [join(folder, "hooks"), ...(hooks === undefined ? [] : [hooks])],
  };
}

/**
 * A `.git` file may name any folder and may have come with the project. The folder is accepted only if it points back
 * to the project.
 */
function findLinkedFolder(git: string): string | undefined {
  const named = /^gitdir: (.+)$/m.exec(readText(git, gitFileBytesMax) ?? "")?.[1];
  const folder = named === undefined ? undefined : realFolder(resolve(dirname(git), named));
  if (folder === undefined) return undefined;
  if (isWorktreeFolder(folder)) {
    const back = readText(join(folder, "gitdir"), gitFileBytesMax)?.trim() ?? "";
    const common = readText(join(folder, "commondir"), gitFileBytesMax)?.trim();
    return resolve(folder, back) === git && common === "../.." ? folder : undefined;
  }
  const tree = configValue(folder, "worktree");
  return tree !== undefined && resolve(folder, tree) === dirname(git) ? folder : undefined;
}

const isWorktreeFolder = (folder: string): boolean => basename(dirname(folder)) === "worktrees";

/** The configured hooks folder that replaces git's default, if it is in the project. */
function hooksFolder({ folder, root }: Repository): string | undefined {
  const named = configValue(folder, "hookspath");
  if (named === undefined) return undefined;
  const hooks = isAbsolute(named) ? named : join(root, named);
  return hooks !== root && isInside(hooks, root) ? hooks : undefined;
}

/** Files of the project that git is configured to run, or to read settings from. */
function programsOfProject({ folder, root }: Repository): readonly string[] {
  const words = configLines(folder).flatMap(({ key, value }) =>
    programKeys.test(key) ? value.split(/[\s"'!;|&\\]+/).filter((word) => word !== "") : [],
  );
  // An included settings file is named relative to the including one.
  const paths = words.flatMap((word) => [resolve(root, word), resolve(folder, word)]);
  const isOfProject = (path: string): boolean =>
    isInside(path, root) && !isInside(path, folder) && fileKind(path) === "file";
  return [...new Set(paths)].filter(isOfProject);
}

const programKeys =
  /^(?:askpass|clean|cmd|command|driver|editor|external|fsmonitor|gitproxy|helper|pager|path|process|program|smudge|sshcommand|textconv)$/;

/** The last value, whatever its section: each of these names occurs in only one. */
function configValue(folder: string, name: string): string | undefined {
  const value = configLines(folder).findLast(({ key }) => key === name)?.value;
  return value === undefined ? undefined : /^"?([^"#;]*)/.exec(value)?.[1]?.trim();
}

function configLines(folder: string): readonly { readonly key: string; readonly value: string }[] {
  const text = readText(join(folder, "config"), gitConfigBytesMax) ?? "";
  return text.split("\n").flatMap((line) => {
    const [, key, value = ""] = /^\s*(?:\[[^\]]*\]\s*)?([\w-]+)\s*=\s*(.*)$/.exec(line) ?? [];
    return key === undefined ? [] : [{ key: key.toLowerCase(), value: value.trim() }];
  });
}

/** Submodule names may hold slashes, and submodules may be nested. Undefined: there are too many to protect. */
function submoduleFolders(folder: string): readonly string[] | undefined {
  const found: string[] = [];
  const left = [folder];
  for (let at = left.shift(); at !== undefined; at = left.shift()) {
    if (found.length + left.length > submodulesMax) return undefined;
    const inside = foldersIn(at);
    const isRepository = at !== folder && fileKind(join(at, "HEAD")) === "file";
    if (isRepository) found.push(at);
    left.push(...inside.filter((one) => !isRepository || basename(one) === "modules"));
  }
  return found;
}

function foldersIn(folder: string): readonly string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name));
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return [];
  }
}

function fileKind(path: string): "file" | "folder" | "other" {
  try {
    const found = lstatSync(path);
    return found.isFile() ? "file" : found.isDirectory() ? "folder" : "other";
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return "other";
  }
}

function realFolder(path: string): string | undefined {
  try {
    const real = realpathSync.native(path);
    return fileKind(real) === "folder" ? real : undefined;
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return undefined;
  }
}

function readText(path: string, bytesMax: number): string | undefined {
  try {
    const found = lstatSync(path);
    return found.isFile() && found.size <= bytesMax ? readFileSync(path, "utf8") : undefined;
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return undefined;
  }
}
