import { execFile } from "node:child_process";
import { lstat, readFile, realpath, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { promisify } from "node:util";
import { safeGitEnvironment } from "../../schema/safe-git-environment.ts";
import { rootCommitsMax, rootCommitsMs } from "../limits.ts";
import { exists } from "./disk.ts";

/** The project that a folder belongs to, found without writing anything into it. */
export interface ProjectPlace {
  /** The project's root. In a repository this is the main worktree, even if `cwd` is in another worktree. */
  readonly root: string;
  /** The folder that identifies the project: it is renamed and moved with the project. */
  readonly anchor: string;
  /** `lost-worktree`: the worktree's repository is gone, and `root` is its old location. `absent`: the folder does not exist. */
  readonly kind: "repository" | "folder" | "lost-worktree" | "absent";
}

export async function findProjectPlace(cwd: string): Promise<ProjectPlace> {
  const real = await realpath(cwd).catch(() => undefined);
  const here = real ?? resolve(cwd);
  if (real === undefined) return { root: here, anchor: here, kind: "absent" };
  for (let folder = here; ; folder = dirname(folder)) {
    const place = await repositoryAt(folder);
    if (place !== undefined) return place;
    if (dirname(folder) === folder) return { root: here, anchor: here, kind: "folder" };
  }
}

async function repositoryAt(folder: string): Promise<ProjectPlace | undefined> {
  const dotGit = join(folder, ".git");
  const kind = await stat(dotGit).catch(() => undefined);
  if (kind === undefined) return undefined;
  if (kind.isFile()) return await gitFilePlace(folder, await firstLine(dotGit));
  if (!(await exists(join(dotGit, "HEAD")))) return undefined;
  return (await lstat(dotGit)).isSymbolicLink() ? plainFolderPlace(folder) : repositoryPlace(await realpath(dotGit));
}

/** `.git` may come from an archive and refer to any repository: a repository that does not know the folder is ignored. */
const plainFolderPlace = (folder: string): ProjectPlace => ({ root: folder, anchor: folder, kind: "folder" });

/** `common` is the git folder that all worktrees share: `.git` in the main worktree, or a folder elsewhere (bare, submodule, separate). */
const repositoryPlace = (common: string): ProjectPlace => ({
  root: basename(common) === ".git" ? dirname(common) : common,
  anchor: common,
  kind: "repository",
});

async function gitFilePlace(folder: string, line: string | undefined): Promise<ProjectPlace | undefined> {
  const target = line?.startsWith("gitdir:") === true ? line.slice("gitdir:".length).trim() : undefined;
  if (target === undefined || target === "") return undefined;
  const gitFolder = resolve(folder, target);
  if (!(await exists(gitFolder))) return await findLostWorktree(gitFolder, folder);
  const real = await realpath(gitFolder);
  if (!(await knowsFolder(real, folder))) return plainFolderPlace(folder);
  const commonTarget = await firstLine(join(real, "commondir"));
  const common = commonTarget === undefined ? real : resolve(real, commonTarget);
  return repositoryPlace(await realpath(common).catch(() => common));
}

/** The git folder does not exist. Its path still shows where the repository was, and the project's record knows where it went. */
async function findLostWorktree(gitFolder: string, folder: string): Promise<ProjectPlace | undefined> {
  const worktrees = dirname(gitFolder);
  if (basename(worktrees) !== "worktrees") return undefined;
  const common = dirname(worktrees);
  // The repository exists and has no such worktree.
  if (await exists(join(common, "HEAD"))) return plainFolderPlace(folder);
  return { ...repositoryPlace(common), kind: "lost-worktree" };
}

/**
 * The folder whose settings apply and in which an agent works: the main worktree if `cwd` is in a linked one, else the
 * folder that contains `.git`. `.git` may come from an archive, as a file or a link to any folder on the disk: it is
 * followed only if that repository lists this worktree as its own.
 */
export async function workRoot(cwd: string): Promise<string> {
  const here = await realpath(cwd).catch(() => resolve(cwd));
  for (let folder = here; ; folder = dirname(folder)) {
    if ((await repositoryAt(folder)) !== undefined) return (await mainRoot(folder)) ?? folder;
    if (dirname(folder) === folder) return here;
  }
}

/** Undefined if the folder is not a worktree, or if only its own `.git` claims that it is. */
async function mainRoot(folder: string): Promise<string | undefined> {
  const dotGit = join(folder, ".git");
  if (!(await lstat(dotGit)).isFile()) return undefined;
  const target = (await firstLine(dotGit))?.slice("gitdir:".length).trim() ?? "";
  const gitFolder = await realPathOrUndefined(resolve(folder, target));
  if (gitFolder === undefined || !isWorktreeFolder(gitFolder) || !(await knowsFolder(gitFolder, folder)))
    return undefined;
  return repositoryPlace(dirname(dirname(gitFolder))).root;
}

const isWorktreeFolder = (gitFolder: string): boolean => basename(dirname(gitFolder)) === "worktrees";

/** Whether the git folder of a worktree or submodule refers back to `folder`. Both must be real paths. */
async function knowsFolder(gitFolder: string, folder: string): Promise<boolean> {
  if (isWorktreeFolder(gitFolder)) {
    const target = await firstLine(join(gitFolder, "gitdir"));
    const pointsBack =
      target !== undefined && (await realPathOrUndefined(resolve(gitFolder, target))) === join(folder, ".git");
    return pointsBack && (await firstLine(join(gitFolder, "commondir"))) === "../..";
  }
  const config = await readFile(join(gitFolder, "config"), "utf8").catch(() => "");
  const tree = /^\s*worktree\s*=\s*"?([^"\n]+?)"?\s*$/im.exec(config)?.[1];
  return tree !== undefined && (await realPathOrUndefined(resolve(gitFolder, tree))) === folder;
}

const realPathOrUndefined = (path: string): Promise<string | undefined> => realpath(path).catch(() => undefined);

async function firstLine(path: string): Promise<string | undefined> {
  const content = await readFile(path, "utf8").catch(() => undefined);
  return content?.split("\n")[0]?.trim();
}

/** Undefined if unknown: no git, no commit yet, or a shallow clone, whose oldest commits are not its roots. */
export type RootCommits = (place: ProjectPlace) => Promise<readonly string[] | undefined>;

export const rootCommits: RootCommits = async ({ anchor, kind }) => {
  if (kind !== "repository" || !isAbsolute(anchor) || (await exists(join(anchor, "shallow")))) return undefined;
  const args = [`--git-dir=${anchor}`, "rev-list", "--max-parents=0", `--max-count=${rootCommitsMax}`, "HEAD"];
  try {
    const { stdout } = await promisify(execFile)("git", args, {
      env: { ...safeGitEnvironment(process.env), LC_ALL: "C" },
      timeout: rootCommitsMs,
      cwd: anchor,
    });
    const commits = stdout.split("\n").filter((commit) => /^[0-9a-f]{40,64}$/.test(commit));
    return commits.length > 0 ? commits.toSorted() : undefined;
  } catch {
    return undefined;
  }
};
