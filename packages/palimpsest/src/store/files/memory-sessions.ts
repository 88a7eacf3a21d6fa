import { lstat, readdir, rm, rmdir } from "node:fs/promises";
import { hostname } from "node:os";
import { basename, dirname, join } from "node:path";
import type { ClockDep, IdsDep } from "../../ports/clock-dep.ts";
import { indexPath } from "../../memory/directory/memory-path.ts";
import type { CommitPlan } from "../../memory/directory/plan-commit.ts";
import type { MemoryChangeSet, MemoryTrust } from "../../ports/memories.ts";
import type { Millis } from "../../schema/brand.ts";
import { makeFolder } from "./disk.ts";
import { judgeLock, readLock, writeLock } from "./file-leases.ts";
import { lookAtProcess } from "./look-at-process.ts";

/**
 * Sessions whose agent runs commands: what changes in a memory directory without a commit while one is open may be the
 * agent's work, so that it does not count as the user's. Each session has a mark beside the directory:
 *
 *   absent ──open──▶ open ──close──▶ absent
 *   open ──the process dies──▶ left ──the next look at the directory records what changed──▶ absent
 *
 * A mark that is left counts like an open one: nobody has looked since.
 */
export interface MemorySession {
  /** Why there is no mark, in one line for the user. Undefined if there is one. */
  readonly unmarked: string | undefined;
  /** Call it when what changed meanwhile has been recorded. The mark of a directory that was moved away stays: it may come back. */
  readonly close: () => Promise<void>;
}

const marksFolder = (folder: string): string => join(dirname(folder), `.${basename(folder)}-sessions`);

/**
 * `folder`: the memory directory, which need not exist. `recorded`: whether everything that had changed in it is in its
 * history; only then are left marks done with. Must not reject: a disk that refuses keeps nobody from working.
 */
export async function openMemorySession(
  deps: ClockDep & IdsDep,
  { folder, recorded }: { readonly folder: string; readonly recorded: "all" | "not-all" },
): Promise<MemorySession> {
  const marks = marksFolder(folder);
  try {
    if (recorded === "all") await removeLeftMarks(deps, folder);
    await makeFolder(marks);
    const wasThere = await isFolder(folder);
    const mark = join(marks, `${deps.uuid()}.lock`);
    await writeLock({ ...deps, ...thisMachine() }, mark);
    return {
      unmarked: undefined,
      close: async () => {
        if (wasThere && !(await isFolder(folder))) return;
        await rm(mark, { force: true });
        await rmdir(marks).catch(() => undefined);
      },
    };
  } catch {
    return withoutMark(marks);
  }
}

const isFolder = async (path: string): Promise<boolean> =>
  await lstat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );

const withoutMark = (marks: string): MemorySession => ({
  unmarked: `${marks} can't be written: without it nobody knows whether you or the agent changed the memory folder.`,
  close: () => Promise.resolve(),
});

/** How far to trust what was changed in the directory without a commit. Not at all if the marks can't be read. */
export async function judgeHandEdits(folder: string): Promise<MemoryTrust> {
  return (await listMarks(folder))?.length === 0 ? "trusted" : "untrusted";
}

/** To be called when what had changed has been recorded. */
export async function removeLeftMarks(deps: ClockDep, folder: string): Promise<void> {
  for (const path of (await listMarks(folder)) ?? []) {
    const seen = await readLock(path);
    if (seen === undefined) continue;
    const verdict = await judgeLock({ ...deps, ...thisMachine() }, seen);
    if (verdict.kind === "stale") await rm(path, { force: true });
  }
  await rmdir(marksFolder(folder)).catch(() => undefined);
}

const thisMachine = () => ({ host: hostname(), lookAtProcess });

/** Undefined if they can't be read. */
async function listMarks(folder: string): Promise<readonly string[] | undefined> {
  const marks = marksFolder(folder);
  try {
    const names = await readdir(marks);
    return names.filter((name) => name.endsWith(".lock")).map((name) => join(marks, name));
  } catch {
    return (await lstat(marks).catch(() => undefined)) === undefined ? [] : undefined;
  }
}

/** Found while a session is open whose agent may have done it. */
export const notByUser = (plan: CommitPlan): CommitPlan => ({
  ...plan,
  revision: {
    ...plan.revision,
    provenance: { ...plan.revision.provenance, trust: "untrusted" },
    message: plan.revision.message.replace("edited by hand", "changed on disk while a session was open"),
  },
});

/** The index is read like an instruction, so that of what may not be the user's it keeps nothing. */
export const restoreIndex = (text: string | undefined, now: Millis): MemoryChangeSet => ({
  author: "user",
  provenance: { at: now, trust: "trusted" },
  message: "the index as it was before the session",
  changes: [{ path: indexPath, expected: "any", text }],
});
