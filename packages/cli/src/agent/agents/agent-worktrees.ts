import { lstat, readdir, realpath, rm, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { basename, join, relative } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { z } from "zod";
import type { ClockDep, IdsDep } from "palimpsest/internal/ports/clock-dep";
import type { Lease, LeaseOutcome } from "palimpsest/internal/ports/store";
import type { AgentWorktree } from "palimpsest/internal/schema/agent-run";
import { type AgentId, agentId } from "palimpsest/internal/schema/brand";
import { parseJson } from "palimpsest/internal/schema/json";
import { makeFolder, readSmallFile, replaceFile } from "palimpsest/internal/store/files/disk";
import { acquireLock, type LockDeps } from "palimpsest/internal/store/files/file-leases";
import { lookAtProcess } from "palimpsest/internal/store/files/look-at-process";
import { errorCode } from "../../tool/error-code.ts";
import { agentWorktreesName } from "../../tool/sandbox/git-folders.ts";
import { findGitRisk } from "../../tool/shell/find-git-risk.ts";
import { worktreeLockPauseMs, worktreeLockWaitMs, worktreeLookWaitMs, worktreeRecordBytesMax } from "./limits.ts";
import { findBase, findRepository, isWorktreeOf, listMissing, readCommit, type Repository } from "./repository.ts";

/**
 * Git worktrees of agents, at `<git folder>/palimpsest-worktrees/<agent>` on the branch `palimpsest/<agent>`.
 *
 *   absent ──open──▶ disposable ──checked out──▶ in-use ──finish, changes──▶ kept ──open──▶ in-use
 *                                                in-use ──finish, no change──▶ disposable ──removed──▶ absent, with its branch
 *   disposable, in-use ──the process dies──▶ left ──endLeftovers──▶ absent (disposable, or no change) or kept
 *   kept ──the user removes it──▶ its record goes with the next endLeftovers
 *
 * A change is anything that git would list, or a commit other than the one that the worktree began with. `<agent>.lock`
 * is held from open to finish; `<agent>.json` says how far it is. `git.lock` is held while git's list of worktrees changes:
 * git itself fails if it reads an entry that another git is writing. The git folder is the one place inside the project that
 * is never listed as untracked, that searches, builds and watchers of the project skip, and that a worktree has to
 * write to anyway; the sandbox lets each agent write to its own worktree only.
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
      if (repository.kind === "unusable") return refused(repository.why);
      return await orRefused(() => openWorktree({ ...input, repository }, agent));
    },
    endLeftovers: async () => {
      const repository = await findRepository(input);
      if (repository.kind === "unusable") return [];
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
  readonly lockDeps: LockDeps & ClockDep & IdsDep;
}

const worktreesFolder = ({ common }: Repository): string => join(common, agentWorktreesName);

async function hold(
  { deps, repository }: WorktreeDeps,
  { agent, waitMs }: { readonly agent: AgentId; readonly waitMs: number },
): Promise<HeldWorktree | Refused> {
  if (!isAgentFileName(agent)) return refused(`${JSON.stringify(agent)} can't be the name of a worktree`);
  const folder = worktreesFolder(repository);
  await makeFolder(folder);
  // Everything below is removed by its path.
  if ((await realpath(folder)) !== folder) return refused(`${folder} is a link; it is not followed`);
  const lockDeps = { ...deps, host: hostname(), lookAtProcess };
  const acquired = await acquireWithin(lockDeps, { path: join(folder, `${agent}.lock`), waitMs });
  if (acquired.kind === "busy") return refused(`The worktree of ${agent} is in use by ${acquired.holder}`);
  if (acquired.kind === "failed") return refused(`There is no worktree: ${acquired.message}`);
  return {
    agent,
    path: join(folder, agent),
    branch: `palimpsest/${agent}`,
    recordPath: join(folder, `${agent}.json`),
    repository,
    lease: acquired.lease,
    lockDeps,
  };
}

const isAgentFileName = (name: string): boolean => /^[A-Za-z\d][\w-]{0,63}$/.test(name);

const recordShape = z.object({
  /** `disposable`: nothing of the agent is in it, since it is being made or removed. */
  state: z.enum(["disposable", "in-use", "kept"]),
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
  const held = await hold(deps, { agent, waitMs: worktreeLookWaitMs });
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
  if (record !== undefined && record.state !== "disposable" && (await isWorktreeOf(held.repository, held.path))) {
    await writeRecord(recordPath, { ...record, state: "in-use" });
    return { kind: "added", base: record.base, isNew: false };
  }
  if (record?.state === "disposable") await removeWorktree(held, record.base);
  if ((await lstat(path).catch(() => undefined)) !== undefined)
    return refused(`${path} is there already and is no worktree of ${held.agent}: remove it first`);
  // What the agent committed in an earlier run is in its branch, also if the worktree is gone.
  const tip = await readCommit(repository, `refs/heads/${branch}`);
  const base = record?.base ?? (await findBase(repository, { head, tip }));
  await writeRecord(recordPath, { state: "disposable", base });
  const why = await checkOut(held, tip === undefined ? ["--no-track", "-b", branch, path, base] : [path, branch]);
  if (why !== undefined) {
    await removeWorktree(held, base);
    await rm(recordPath, { force: true });
    return refused(`git made no worktree: ${why}`);
  }
  await writeRecord(recordPath, { state: "in-use", base });
  return { kind: "added", base, isNew: true };
}

/** Files are written after the list of worktrees is free again: that takes long in a large repository. Returns why it failed. */
async function checkOut(held: HeldWorktree, from: readonly string[]): Promise<string | undefined> {
  const { path, repository } = held;
  const { git, top } = repository;
  const failed = await changeList(held, async () => {
    const add = () => git(top, ["worktree", "add", "--quiet", "--no-checkout", ...from]);
    const added = await add();
    if (added.kind === "done") return undefined;
    // Git may still list one whose folder the user has deleted.
    await git(top, ["worktree", "prune"]);
    const again = await add();
    return again.kind === "failed" ? added.why : undefined;
  });
  if (failed !== undefined) return failed;
  const filled = await git(path, ["reset", "--quiet", "--hard"]);
  return filled.kind === "failed" ? filled.why : undefined;
}

/** The whole worktree if the folder is not in the commit. */
async function correspondingFolder({ cwd, repository }: WorktreeDeps, path: string): Promise<string> {
  const folder = join(path, relative(repository.top, await realpath(cwd)));
  const found = await stat(folder).catch(() => undefined);
  return found?.isDirectory() === true && (await realpath(folder)) === folder ? folder : path;
}

type Change = { readonly kind: "none" } | { readonly kind: "changed"; readonly why: string };

const noChange: Change = { kind: "none" };
const changedBecause = (why: string): Change => ({ kind: "changed", why });

/** What can't be told counts as a change. */
async function findChange(held: HeldWorktree, base: string): Promise<Change> {
  const { repository, path, branch } = held;
  const tip = await readCommit(repository, `refs/heads/${branch}`);
  if (tip !== undefined && tip !== base) return changedBecause("it has commits");
  if ((await lstat(path).catch(() => undefined)) === undefined) return noChange;
  if (!(await isWorktreeOf(held.repository, held.path)))
    return changedBecause("it is no worktree of this repository any more");
  const risk = await findGitRisk(path);
  if (risk !== undefined) return changedBecause(`git might start a program there, since ${risk}`);
  const head = await readCommit({ ...repository, top: path }, "HEAD");
  if (head !== base) return changedBecause("it has commits");
  const status = await repository.git(path, ["status", "--porcelain", "-z", "--untracked-files=normal"]);
  if (status.kind === "failed") return changedBecause(`git can't tell its changes: ${status.why}`);
  return status.out === "" ? noChange : changedBecause("it has uncommitted changes");
}

/** Removes or keeps it, and releases the lock. */
async function endHeld(held: HeldWorktree, record: WorktreeRecord): Promise<EndedWorktree> {
  const { agent, path, branch, recordPath } = held;
  const outcome = { agent, path, branch };
  try {
    const change = record.state === "disposable" ? noChange : await findChange(held, record.base);
    if (change.kind === "changed") {
      await writeRecord(recordPath, { ...record, state: "kept" });
      return { ...outcome, state: "kept", why: change.why };
    }
    // If it can't be removed now, the next start tries again.
    const why = await removeWorktree(held, record.base);
    if (why !== undefined) return { ...outcome, state: "kept", why };
    await rm(recordPath, { force: true });
    return { ...outcome, state: "removed" };
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return { ...outcome, state: "kept", why: error instanceof Error ? error.message : String(error) };
  } finally {
    await held.lease.release();
  }
}

/** With its branch, if that has no commit of its own. Returns why it is still there; undefined if it is gone. */
async function removeWorktree(held: HeldWorktree, base: string): Promise<string | undefined> {
  const { path, branch, recordPath, repository } = held;
  const { git, top } = repository;
  const found = await lstat(path).catch(() => undefined);
  if (found !== undefined && !(found.isDirectory() && (await realpath(path)) === path))
    return "it is no folder any more";
  await writeRecord(recordPath, { state: "disposable", base });
  await rm(path, { recursive: true, force: true });
  return await changeList(held, async () => {
    // Fails if git was killed before it knew of the worktree, or in the middle.
    const removed = await git(top, ["worktree", "remove", "--force", "--force", path]);
    if (removed.kind === "failed") await git(top, ["worktree", "prune"]);
    // Refuses a branch that has moved since.
    await git(top, ["update-ref", "-d", `refs/heads/${branch}`, base]);
    return undefined;
  });
}

/** One process at a time. Returns what `act` returns, or why it was not called. */
async function changeList(held: HeldWorktree, act: () => Promise<string | undefined>): Promise<string | undefined> {
  const path = join(worktreesFolder(held.repository), "git.lock");
  const acquired = await acquireWithin(held.lockDeps, { path, waitMs: worktreeLockWaitMs });
  if (acquired.kind === "failed") return acquired.message;
  if (acquired.kind === "busy") return `git's worktrees are being changed by ${acquired.holder}`;
  try {
    return await act();
  } finally {
    await acquired.lease.release();
  }
}

async function acquireWithin(
  deps: HeldWorktree["lockDeps"],
  { path, waitMs }: { readonly path: string; readonly waitMs: number },
): Promise<LeaseOutcome> {
  const until = performance.now() + waitMs;
  for (;;) {
    const acquired = await acquireLock(deps, path);
    if (acquired.kind !== "busy" || performance.now() >= until) return acquired;
    await wait(worktreeLockPauseMs.min + Math.random() * (worktreeLockPauseMs.max - worktreeLockPauseMs.min));
  }
}

async function endLeftovers(deps: WorktreeDeps): Promise<readonly EndedWorktree[]> {
  const names = await readdir(worktreesFolder(deps.repository)).catch(() => []);
  const agents = names.flatMap((name) => (name.endsWith(".json") ? [agentId(basename(name, ".json"))] : []));
  const ended: EndedWorktree[] = [];
  for (const agent of agents.filter(isAgentFileName)) {
    const held = await hold(deps, { agent, waitMs: 0 });
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
