import { execFile } from "node:child_process";
import { lstat, readFile, realpath, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { safeGitEnvironment } from "palimpsest/internal/schema/safe-git-environment";
import { plural } from "palimpsest/internal/text/format-count";
import { oneLine } from "palimpsest/internal/text/to-printable";
import { errorCode } from "../../tool/error-code.ts";
import { findGitRisk } from "../../tool/shell/find-git-risk.ts";
import { gitMessageCharsMax, worktreeGitBytesMax, worktreeGitMs } from "./limits.ts";

/** A repository with a working tree, in which git starts no program of the repository. */
export interface Repository {
  readonly kind: "repository";
  /** The worktree of the caller. */
  readonly top: string;
  /** The git folder that all worktrees share. */
  readonly common: string;
  readonly git: Git;
}

type GitOutcome = { readonly kind: "done"; readonly out: string } | { readonly kind: "failed"; readonly why: string };
type Git = (folder: string, args: readonly string[]) => Promise<GitOutcome>;

/** Starts no program that the repository names: no hook, no helper. Filters are looked for before. */
const createGit =
  (env: RepositoryPlace["env"]): Git =>
  async (folder, args) => {
    try {
      const options = { env: safeGitEnvironment(env), timeout: worktreeGitMs, maxBuffer: worktreeGitBytesMax };
      return { kind: "done", out: (await promisify(execFile)("git", ["-C", folder, ...args], options)).stdout };
    } catch (error) {
      if (errorCode(error) === "ENOENT") return { kind: "failed", why: "git is not installed" };
      const said = error instanceof Error && "stderr" in error ? String(error.stderr) : String(error);
      return { kind: "failed", why: oneLine(said).trim().slice(0, gitMessageCharsMax) };
    }
  };

interface RepositoryPlace {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

interface UnusableRepository {
  readonly kind: "unusable";
  readonly why: string;
}

const unusable = (why: string): UnusableRepository => ({ kind: "unusable", why });

/** `unusable`: `why` is a sentence for the model and the user. Must not reject. */
export async function findRepository({ cwd, env }: RepositoryPlace): Promise<Repository | UnusableRepository> {
  const git = createGit(env);
  const found = await git(cwd, ["rev-parse", "--path-format=absolute", "--show-toplevel", "--git-common-dir"]);
  if (found.kind === "failed")
    return unusable(`A worktree needs a git repository with a working tree, and ${cwd} has none: ${found.why}`);
  const [top = "", common = ""] = found.out.split("\n");
  const risk = await findGitRisk(top);
  if (risk !== undefined) return unusable(`There is no worktree: git might start a program there, since ${risk}`);
  return { kind: "repository", top, common: await realpath(common), git };
}

/** Undefined if there is none of this name. */
export async function readCommit({ git, top }: Repository, name: string): Promise<string | undefined> {
  const found = await git(top, ["rev-parse", "--verify", "--quiet", `${name}^{commit}`]);
  return found.kind === "done" ? found.out.trim() : undefined;
}

/** If the branch is there, its commits since then are the agent's. */
export async function findBase(
  { git, top }: Repository,
  { head, tip }: { readonly head: string; readonly tip: string | undefined },
): Promise<string> {
  const common = tip === undefined ? undefined : await git(top, ["merge-base", head, tip]);
  return common?.kind === "done" ? common.out.trim() : head;
}

/** What a worktree of this commit lacks, one line each. */
export async function listMissing({ git, top }: Repository, base: string): Promise<readonly string[]> {
  const changed = await git(top, ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=normal"]);
  const count = changed.kind === "done" ? changed.out.split("\0").length - 1 : 0;
  const uncommitted = `${count} uncommitted ${plural(count, "change")} of ${top} ${count === 1 ? "is" : "are"} not in it`;
  const hasSubmodules = (await stat(join(top, ".gitmodules")).catch(() => undefined)) !== undefined;
  return [
    ...(count === 0 ? [] : [`The worktree begins with the commit ${base.slice(0, 10)}: ${uncommitted}.`]),
    ...(hasSubmodules ? ["Submodules are empty in the worktree."] : []),
  ];
}

/** Whether git made this folder as a worktree of this repository, and nobody has put something else in its place. */
export async function isWorktreeOf(repository: Repository, path: string): Promise<boolean> {
  try {
    if (!(await lstat(path)).isDirectory() || !(await lstat(join(path, ".git"))).isFile()) return false;
    const [, named = ""] = /^gitdir: (.+)\n?$/.exec(await readFile(join(path, ".git"), "utf8")) ?? [];
    const folder = await realpath(resolve(path, named));
    if (dirname(folder) !== join(repository.common, "worktrees")) return false;
    return resolve(folder, (await readFile(join(folder, "gitdir"), "utf8")).trim()) === join(path, ".git");
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return false;
  }
}
