import { execFile } from "node:child_process";
import { lstat, readdir, readFile, realpath, rm, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { basename, dirname, join, relative, resolve } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import type { ClockDep, IdsDep } from "palimpsest/internal/ports/clock-dep";
import type { Lease } from "palimpsest/internal/ports/store";
import type { AgentWorktree } from "palimpsest/internal/schema/agent-run";
import { type AgentId, agentId } from "palimpsest/internal/schema/brand";
import { parseJson } from "palimpsest/internal/schema/json";
import { safeGitEnvironment } from "palimpsest/internal/schema/safe-git-environment";
import { makeFolder, readSmallFile, replaceFile } from "palimpsest/internal/store/files/disk";
import { acquireLock } from "palimpsest/internal/store/files/file-leases";
import { lookAtProcess } from "palimpsest/internal/store/files/look-at-process";
import { plural } from "palimpsest/internal/text/format-count";
import { oneLine } from "palimpsest/internal/text/to-printable";
import { errorCode } from "../../tool/error-code.ts";
import { findGitRisk } from "../../tool/shell/find-git-risk.ts";
import { gitMessageCharsMax, worktreeGitBytesMax, worktreeGitMs, worktreeRecordBytesMax } from "./limits.ts";

/**
 * Git worktrees of agents, at `<git folder>/palimpsest-worktrees/<agent>` on the branch `palimpsest/<agent>`.
 *
 *   absent ──open──▶ adding ──checked out──▶ in-use ──finish, no change──▶ absent, with its branch
 *                                            in-use ──finish, changes──▶ kept ──open──▶ in-use
 *   adding, in-use ──the process dies──▶ left ──endLeftovers──▶ absent (adding, or no change) or kept
 *   kept ──the user removes it──▶ its record goes with the next endLeftovers
 *
 * A change is anything that git would list, or a commit other than the one that the worktree began with. `<agent>.lock`
 * is held from open to finish; `<agent>.json` says how far it is. The git folder is the one place inside the project that
 * is never listed as untracked, that searches, builds and watchers of the project skip, and that the sandbox lets a
 * worktree write to anyway.
 */
export interface AgentWorktrees {
  /** A new worktree at the current commit, or the one that this agent has already. Must not reject. */
  open(agent: AgentId): Promise<OpenWorktreeOutcome>;
  /** Ends or keeps the worktrees of processes that are gone. Running agents are left alone. Must not reject. */
  endLeftovers(): Promise<readonly EndedWorktree[]>;
}

/** `message`: one line for the model and the user. */
export type OpenWorktreeOutcome =
  | { readonly kind: "open"; readonly worktree: OpenWorktree }
  | { readonly kind: "refused"; readonly message: string };

export interface OpenWorktree {
  /** A real path: the agent's only root. */
  readonly path: string;
  readonly branch: string;
  /** The folder in it that corresponds to the caller's. */
  readonly cwd: string;
  /** What is not in it, one line each, for the agent. */
  readonly notes: readonly string[];
  /** To be called when nothing writes there any more; again, it says the same. Must not reject. */
  readonly finish: () => Promise<EndedWorktree>;
}

export interface EndedWorktree extends AgentWorktree {
  readonly agent: AgentId;
  readonly state: "kept" | "removed";
  /** Why it is kept, in a few words. */
  readonly why?: string | undefined;
}

interface AgentWorktreesInput {
  readonly deps: ClockDep & IdsDep;
  /** In the repository: the agent works in the same folder of its worktree. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export function agentWorktrees(input: AgentWorktreesInput): AgentWorktrees {
  return {
    open: async (agent) => {
      const repository = await findRepository(input);
      if (repository.kind === "refused") return repository;
      return await orRefused(() => openWorktree({ ...input, repository }, agent));
    },
    endLeftovers: async () => {
      const repository = await findRepository(input);
      if (repository.kind === "refused") return [];
      return await endLeftovers({ ...input, repository }).catch(() => []);
    },
  };
}

type Refused = Extract<OpenWorktreeOutcome, { kind: "refused" }>;
const refused = (message: string): Refused => ({ kind: "refused", message });

/** The disk may refuse anything. */
async function orRefused(act: () => Promise<OpenWorktreeOutcome>): Promise<OpenWorktreeOutcome> {
  try {
    return await act();
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return refused(`There is no worktree: ${error instanceof Error ? error.message : String(error)}`);
  }
}

interface Repository {
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
  (env: AgentWorktreesInput["env"]): Git =>
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

async function findRepository({ cwd, env }: AgentWorktreesInput): Promise<Repository | Refused> {
  const git = createGit(env);
  const found = await git(cwd, ["rev-parse", "--path-format=absolute", "--show-toplevel", "--git-common-dir"]);
  if (found.kind === "failed")
    return refused(`A worktree needs a git repository with a working tree, and ${cwd} has none: ${found.why}`);
  const [top = "", common = ""] = found.out.split("\n");
  const risk = await findGitRisk(top);
  if (risk !== undefined) return refused(`There is no worktree: git might start a program there, since ${risk}`);
  return { kind: "repository", top, common: await realpath(common), git };
}

interface WorktreeDeps extends AgentWorktreesInput {
  readonly repository: Repository;
}

/** One agent's worktree while this process holds its lock. */
interface HeldWorktree {
  readonly agent: AgentId;
  readonly path: string;
  readonly branch: string;
  readonly recordPath: string;
  readonly repository: Repository;
  readonly lease: Lease;
}

const worktreesFolder = ({ common }: Repository): string => join(common, "palimpsest-worktrees");

async function hold({ deps, repository }: WorktreeDeps, agent: AgentId): Promise<HeldWorktree | Refused> {
  if (!isAgentFileName(agent)) return refused(`${JSON.stringify(agent)} can't be the name of a worktree`);
  const folder = worktreesFolder(repository);
  await makeFolder(folder);
  // Everything below is removed by its path.
  if ((await realpath(folder)) !== folder) return refused(`${folder} is a link; it is not followed`);
  const lockDeps = { ...deps, host: hostname(), lookAtProcess };
  const acquired = await acquireLock(lockDeps, join(folder, `${agent}.lock`));
  if (acquired.kind === "busy") return refused(`The worktree of ${agent} is in use by ${acquired.holder}`);
  if (acquired.kind === "failed") return refused(`There is no worktree: ${acquired.message}`);
  return {
    agent,
    path: join(folder, agent),
    branch: `palimpsest/${agent}`,
    recordPath: join(folder, `${agent}.json`),
    repository,
    lease: acquired.lease,
  };
}

const isAgentFileName = (name: string): boolean => /^[A-Za-z\d][\w-]{0,63}$/.test(name);

const recordShape = z.object({
  state: z.enum(["adding", "in-use", "kept"]),
  /** The commit that it began with. */
  base: z.string().regex(/^[\da-f]{40,64}$/),
});
type WorktreeRecord = z.infer<typeof recordShape>;

/** Path and branch are not in it: who changes the file can't make us remove another folder. */
async function readRecord(path: string): Promise<WorktreeRecord | undefined> {
  const text = await readSmallFile(path, worktreeRecordBytesMax).catch(() => undefined);
  try {
    return text === undefined ? undefined : recordShape.safeParse(parseJson(text)).data;
  } catch {
    return undefined;
  }
}

const writeRecord = (path: string, record: WorktreeRecord): Promise<void> =>
  replaceFile({ path, data: Buffer.from(`${JSON.stringify(record)}\n`), sync: "unsynced" });

async function openWorktree(deps: WorktreeDeps, agent: AgentId): Promise<OpenWorktreeOutcome> {
  const { repository } = deps;
  const head = await readCommit(repository, "HEAD");
  if (head === undefined)
    return refused(`A worktree begins with a commit, and ${repository.top} has none yet: commit something first`);
  const held = await hold(deps, agent);
  if ("kind" in held) return held;
  try {
    const opened = await addOrReopen(held, head);
    if (opened.kind === "refused") {
      await held.lease.release();
      return opened;
    }
    const { base } = opened;
    let ended: Promise<EndedWorktree> | undefined;
    return {
      kind: "open",
      worktree: {
        path: held.path,
        branch: held.branch,
        cwd: await correspondingFolder(deps, held.path),
        notes: opened.isNew ? await listMissing(repository, base) : [],
        finish: () => (ended ??= endHeld(held, { state: "in-use", base })),
      },
    };
  } catch (error) {
    await held.lease.release();
    throw error;
  }
}

type AddOutcome = { readonly kind: "added"; readonly base: string; readonly isNew: boolean } | Refused;

async function addOrReopen(held: HeldWorktree, head: string): Promise<AddOutcome> {
  const { repository, path, branch, recordPath } = held;
  const record = await readRecord(recordPath);
  if (record !== undefined && record.state !== "adding" && (await isOwnWorktree(held))) {
    await writeRecord(recordPath, { ...record, state: "in-use" });
    return { kind: "added", base: record.base, isNew: false };
  }
  if (record?.state === "adding") await removeWorktree(held, record);
  if ((await lstat(path).catch(() => undefined)) !== undefined)
    return refused(`${path} is there already and is no worktree of ${held.agent}: remove it first`);
  // What the agent committed in an earlier run is in its branch, also if the worktree is gone.
  const tip = await readCommit(repository, `refs/heads/${branch}`);
  const base = record?.base ?? (await findBase(repository, { head, tip }));
  await writeRecord(recordPath, { state: "adding", base });
  await repository.git(repository.top, ["worktree", "prune"]);
  const from = tip === undefined ? ["--no-track", "-b", branch, path, base] : [path, branch];
  const added = await repository.git(repository.top, ["worktree", "add", "--quiet", ...from]);
  if (added.kind === "failed") {
    await removeWorktree(held, { state: "adding", base });
    await rm(recordPath, { force: true });
    return refused(`git made no worktree: ${added.why}`);
  }
  await writeRecord(recordPath, { state: "in-use", base });
  return { kind: "added", base, isNew: true };
}

/** If the branch is there, its commits since then are the agent's. */
async function findBase(
  { git, top }: Repository,
  { head, tip }: { readonly head: string; readonly tip: string | undefined },
): Promise<string> {
  const common = tip === undefined ? undefined : await git(top, ["merge-base", head, tip]);
  return common?.kind === "done" ? common.out.trim() : head;
}

async function readCommit({ git, top }: Repository, name: string): Promise<string | undefined> {
  const found = await git(top, ["rev-parse", "--verify", "--quiet", `${name}^{commit}`]);
  return found.kind === "done" ? found.out.trim() : undefined;
}

/** The whole worktree if the folder is not in the commit. */
async function correspondingFolder({ cwd, repository }: WorktreeDeps, path: string): Promise<string> {
  const folder = join(path, relative(repository.top, await realpath(cwd)));
  const found = await stat(folder).catch(() => undefined);
  return found?.isDirectory() === true && (await realpath(folder)) === folder ? folder : path;
}

async function listMissing({ git, top }: Repository, base: string): Promise<readonly string[]> {
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
async function isOwnWorktree({ path, repository }: HeldWorktree): Promise<boolean> {
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

type Change = { readonly kind: "none" } | { readonly kind: "changed"; readonly why: string };

const changedBecause = (why: string): Change => ({ kind: "changed", why });

/** What can't be told counts as a change. */
async function findChange(held: HeldWorktree, base: string): Promise<Change> {
  const { repository, path, branch } = held;
  const tip = await readCommit(repository, `refs/heads/${branch}`);
  if (tip !== undefined && tip !== base) return changedBecause("it has commits");
  if ((await lstat(path).catch(() => undefined)) === undefined) return { kind: "none" };
  if (!(await isOwnWorktree(held))) return changedBecause("it is no worktree of this repository any more");
  const risk = await findGitRisk(path);
  if (risk !== undefined) return changedBecause(`git might start a program there, since ${risk}`);
  const head = await readCommit({ ...repository, top: path }, "HEAD");
  if (head !== base) return changedBecause("it has commits");
  const status = await repository.git(path, ["status", "--porcelain", "-z", "--untracked-files=normal"]);
  if (status.kind === "failed") return changedBecause(`git can't tell its changes: ${status.why}`);
  return status.out === "" ? { kind: "none" } : changedBecause("it has uncommitted changes");
}

/** Removes or keeps it, and releases the lock. */
async function endHeld(held: HeldWorktree, record: WorktreeRecord): Promise<EndedWorktree> {
  const { agent, path, branch, recordPath } = held;
  const outcome = { agent, path, branch };
  try {
    const change = record.state === "adding" ? ({ kind: "none" } as const) : await findChange(held, record.base);
    const why = change.kind === "changed" ? change.why : await removeWorktree(held, record);
    if (why === undefined) {
      await rm(recordPath, { force: true });
      return { ...outcome, state: "removed" };
    }
    await writeRecord(recordPath, { ...record, state: "kept" });
    return { ...outcome, state: "kept", why };
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return { ...outcome, state: "kept", why: error instanceof Error ? error.message : String(error) };
  } finally {
    await held.lease.release();
  }
}

/** With its branch, if that has no commit of its own. Returns why it is still there; undefined if it is gone. */
async function removeWorktree(held: HeldWorktree, { base, state }: WorktreeRecord): Promise<string | undefined> {
  const { path, branch, repository } = held;
  const { git, top } = repository;
  const isThere = async (): Promise<boolean> => (await lstat(path).catch(() => undefined)) !== undefined;
  if ((await isThere()) && (await realpath(path)) !== path) return "it is a link";
  const remove = () => git(top, ["worktree", "remove", "--force", "--force", path]);
  let removed = await remove();
  if (removed.kind === "failed" && state === "adding") {
    // Git was killed before it had a worktree to remove, and the agent has not begun.
    await rm(path, { recursive: true, force: true });
    removed = await remove();
  }
  if (removed.kind === "failed" && (await isThere())) return `git can't remove it: ${removed.why}`;
  await git(top, ["worktree", "prune"]);
  // Refuses a branch that has moved since.
  await git(top, ["update-ref", "-d", `refs/heads/${branch}`, base]);
  return undefined;
}

async function endLeftovers(deps: WorktreeDeps): Promise<readonly EndedWorktree[]> {
  const names = await readdir(worktreesFolder(deps.repository)).catch(() => []);
  const agents = names.flatMap((name) => (name.endsWith(".json") ? [agentId(basename(name, ".json"))] : []));
  const ended: EndedWorktree[] = [];
  for (const agent of agents.filter(isAgentFileName)) {
    const held = await hold(deps, agent);
    if ("kind" in held) continue;
    const record = await readRecord(held.recordPath);
    if (record !== undefined && record.state !== "kept") ended.push(await endHeld(held, record));
    else {
      // The user has removed it.
      const isGone = (await lstat(held.path).catch(() => undefined)) === undefined;
      if (isGone) await rm(held.recordPath, { force: true });
      await held.lease.release();
    }
  }
  return ended;
}
