import { hostname } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { lstatSync, realpathSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { setTimeout as wait } from "node:timers/promises";
import { describeMemory, withoutText } from "../../memory/directory/describe-memory.ts";
import { checkMemoryPath, indexPath } from "../../memory/directory/memory-path.ts";
import {
  checkChangeSet,
  type CommitPlan,
  type CurrentFile,
  findMemorySecrets,
  planCommit,
  planHandEdits,
  planIndexUpdate,
} from "../../memory/directory/plan-commit.ts";
import { planPurge } from "../../memory/directory/plan-purge.ts";
import type { RecordedFile } from "../../memory/directory/recorded-files.ts";
import { ruleScanner } from "../../memory/redact-secrets.ts";
import type { WriteFailure } from "../../ports/blobs.ts";
import type { ClockDep, IdsDep } from "../../ports/clock-dep.ts";
import type {
  Memories,
  MemoryChangeSet,
  MemoryCommitOutcome,
  MemoryPurgeOutcome,
  MemoryText,
} from "../../ports/memories.ts";
import type { MemoryHash } from "../../schema/brand.ts";
import type { SecretScanner } from "../../ports/secret-scanner.ts";
import type { Lease } from "../../ports/store.ts";
import { memoryLockPauseMs, memoryLockWaitMs } from "../limits.ts";
import { isLink, makeFolder, writeFailure } from "./disk.ts";
import { acquireLock } from "./file-leases.ts";
import { lookAtProcess } from "./look-at-process.ts";
import { diskMessage, findObstacle, MemoryFolder, type SeenFile } from "./memory-folder.ts";
import { MemoryLog, removeUnfinished } from "./memory-log.ts";
import { judgeHandEdits, removeLeftMarks, notByUser, restoreIndex } from "./memory-sessions.ts";

interface FileMemoriesOptions {
  readonly deps: ClockDep & IdsDep;
  /** Any folder: a project's, a user's, an agent's. Created with the first commit. */
  readonly folder: string;
  /** What refuses texts with secrets; by default the engine's own rules. */
  readonly scanner?: SecretScanner | undefined;
  /** `read-only`: another program's folder, in which nothing is written, not even a history. */
  readonly access?: "read-write" | "read-only" | undefined;
}

/**
 * Memories as files that a user can read and edit, each with its front matter, beside `MEMORY.md`. The history is in
 * `.history/log.jsonl`, the lock in `.history/lock`.
 *
 *   commit = scan for secrets ─▶ lock ─▶ complete what a crash left ─▶ record edits by hand ─▶ plan
 *            ─▶ texts beside ─▶ log ─▶ rename ─▶ applied ─▶ unlock
 */
export function fileMemories(options: FileMemoriesOptions): Required<Memories> {
  const directory = new FileDirectory(options);
  return {
    list: async () => (await directory.look()).map(withoutText),
    read: async (path) => {
      const checked = checkMemoryPath(path);
      return checked.kind === "wrong" ? undefined : directory.read(checked.path);
    },
    commit: (changeSet) => directory.commit(changeSet),
    history: async (path) => {
      await directory.look();
      const revisions = directory.log.revisions.toReversed();
      return path === undefined
        ? revisions
        : revisions.filter(({ changes }) => changes.some((change) => change.path === path));
    },
    text: async (hash) => {
      const memories = await directory.look();
      return memories.find((memory) => memory.hash === hash)?.text ?? directory.pastText(hash);
    },
    purge: (paths) => directory.purge(paths),
    problem: async () => {
      await directory.look();
      return directory.problem ?? findObstacle(directory.folder.path);
    },
    linkTo: (path) => {
      const checked = checkMemoryPath(path);
      return checked.kind === "wrong" ? undefined : join(directory.folder.path, checked.path);
    },
  };
}

class FileDirectory {
  readonly folder: MemoryFolder;
  readonly log: MemoryLog;
  readonly #options: FileMemoriesOptions;
  readonly #scanner: SecretScanner;
  readonly #hidden: string;
  readonly #describedByPath = new Map<string, { readonly recorded: RecordedFile; readonly memory: MemoryText }>();
  #lastCall: Promise<unknown> = Promise.resolve();
  #problem: string | undefined;

  constructor(options: FileMemoriesOptions) {
    const path = resolve(options.folder);
    this.#options = options;
    this.#scanner = options.scanner ?? ruleScanner;
    this.folder = new MemoryFolder(path);
    this.#hidden = join(path, ".history");
    this.log = new MemoryLog(this.#hidden);
  }

  /** What the last look could not read or record. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Every file with what is known about it. Writes only if a file was edited by hand, or a crash left something to do. */
  look(): Promise<readonly MemoryText[]> {
    return this.#enqueue(async () => {
      this.#problem = undefined;
      try {
        return await this.#lookNow();
      } catch (error) {
        this.#problem = diskMessage(error, this.folder.path);
        return this.#salvage();
      }
    });
  }

  async #lookNow(): Promise<readonly MemoryText[]> {
    if (this.folder.state() === "missing") return [];
    this.log.refresh();
    const seen = this.folder.scan();
    if (!this.#isBehind(seen)) return this.#describe(seen);
    if (this.#options.access === "read-only")
      return this.#describe(seen, this.log.isDoubtful ? "untrusted" : "trusted");
    const settled = await this.#locked((lease) => this.#settle(lease));
    if (!("kind" in settled)) return this.#describe(settled);
    // Not recorded: somebody else writes at this moment, or the disk refuses. Who wrote the text is not known.
    this.#problem =
      settled.kind === "busy" ? `${this.folder.path} is being written by ${settled.holder}.` : settled.message;
    return this.#describe(seen, "untrusted");
  }

  /** The files, if only their history can't be read: then nobody knows who wrote them. */
  #salvage(): readonly MemoryText[] {
    try {
      return this.#describe(this.folder.scan());
    } catch {
      return [];
    }
  }

  /** Looks at the whole folder only if this file is not as the history says. */
  async read(path: string): Promise<MemoryText | undefined> {
    const known = await this.#enqueue(async () => this.#readRecorded(path)).catch(() => undefined);
    return (known?.memories ?? (await this.look())).find((memory) => memory.path === path);
  }

  #readRecorded(path: string): { readonly memories: readonly MemoryText[] } | undefined {
    if (this.folder.state() === "missing") return undefined;
    this.log.refresh();
    const file = this.folder.read(path);
    const isRecorded = file?.hash === this.log.recorded.fileByPath.get(path)?.hash;
    if (!isRecorded || this.log.pending !== undefined || this.log.isDoubtful) return undefined;
    return { memories: file === undefined ? [] : this.#describe(new Map([[path, file]])) };
  }

  pastText(hash: MemoryHash): string | undefined {
    try {
      return this.log.text(hash);
    } catch {
      return undefined;
    }
  }

  async commit(changeSet: MemoryChangeSet): Promise<MemoryCommitOutcome> {
    const checked = checkChangeSet(changeSet);
    if (checked.kind === "invalid") return checked;
    const secrets = await findMemorySecrets(this.#scanner, checked.changeSet);
    if (secrets.length > 0) return { kind: "refused", secrets };
    return this.#enqueue(() =>
      this.#locked(async (lease) => {
        const currentByPath = await this.#settle(lease);
        const now = this.#options.deps.now();
        const plan = planCommit(checked.changeSet, { currentByPath, recorded: this.log.recorded, now });
        const scanned = new Set(checked.changeSet.changes.map(({ text }) => text));
        return plan.kind === "planned" ? await this.#carryOut(plan, { lease, scanned }) : plan;
      }),
    );
  }

  purge(paths: readonly string[]): Promise<MemoryPurgeOutcome> {
    return this.#enqueue(() =>
      this.#locked(async (lease) => {
        const currentByPath = await this.#settle(lease);
        const { now } = this.#options.deps;
        const plan = planPurge(paths, { currentByPath, recorded: this.log.recorded, now: now() });
        if (plan.kind === "nothing") return { kind: "purged", paths: [], revisions: 0 };
        // First the files: a crash in between leaves an ordinary deletion, and `forget` can be repeated.
        if (plan.commit !== undefined) {
          const carriedOut = await this.#carryOut(plan.commit, { lease });
          if (carriedOut.kind === "failed") return carriedOut;
        }
        const before = this.log.revisions;
        const kept = plan.keep(before);
        await this.log.rewrite(kept.revisions, kept.keepText);
        return { kind: "purged", paths: plan.paths, revisions: kept.purged };
      }),
    );
  }

  async #carryOut(
    plan: CommitPlan,
    { lease, scanned }: CarryOutOptions,
  ): Promise<MemoryCommitOutcome & { kind: "committed" | "failed" }> {
    const prepared = await this.folder.prepare(plan.revision.changes, {
      text: (hash) => plan.textByHash.get(hash),
      scratch: this.#hidden,
    });
    try {
      if ((await lease.state()) === "lost") return lostLock(this.folder.path);
      await this.log.append(await this.#withoutSecrets(plan, scanned), "pending");
      const left = await this.folder.apply(plan.revision, prepared);
      await this.log.markApplied(plan.revision);
      return { kind: "committed", revision: plan.revision, leftOut: [...plan.leftOut, ...left] };
    } finally {
      await prepared.discard();
    }
  }

  /** Under the lock: completes what a crash left, records what was edited by hand with the index for it, and returns the files. */
  async #settle(lease: Lease): Promise<ReadonlyMap<string, SeenFile>> {
    this.log.refresh();
    if (this.log.pending !== undefined) await this.#complete();
    const seen = this.folder.scan();
    const { recorded, origins } = this.log;
    const found = planHandEdits({ currentByPath: seen, recorded, now: this.#options.deps.now() }, origins);
    if (found === undefined) {
      if (this.log.isDoubtful) await this.log.markChecked();
      return seen;
    }
    const trust = await judgeHandEdits(this.folder.path);
    const edits = trust === "trusted" ? found : notByUser(found);
    const before = edits.revision.changes.map((change) => ({ path: change.path, hash: change.before }));
    const oldByPath = new Map<string, CurrentFile>(seen);
    for (const { path, hash } of before) {
      const text = hash === undefined ? undefined : this.log.text(hash);
      if (hash === undefined || text === undefined) oldByPath.delete(path);
      else oldByPath.set(path, { hash, text });
    }
    await this.log.append(await this.#withoutSecrets(edits), "applied");
    await removeLeftMarks(this.#options.deps, this.folder.path);
    if (this.log.isDoubtful) await this.log.markChecked();
    const now = this.#options.deps.now();
    if (trust === "untrusted" && before.some(({ path }) => path === indexPath)) {
      const text = oldByPath.get(indexPath)?.text;
      const restored = planCommit(restoreIndex(text, now), { currentByPath: seen, recorded: this.log.recorded, now });
      if (restored.kind === "planned") await this.#carryOut(restored, { lease });
      return this.folder.scan();
    }
    const follow = planIndexUpdate(oldByPath, { currentByPath: seen, recorded: this.log.recorded, now });
    if (follow === undefined) return seen;
    await this.#carryOut(follow, { lease });
    return this.folder.scan();
  }

  async #complete(): Promise<void> {
    const { pending } = this.log;
    if (pending === undefined) return;
    const prepared = await this.folder.prepare(pending.changes, {
      text: (hash) => this.log.text(hash),
      scratch: this.#hidden,
    });
    try {
      await this.folder.apply(pending, prepared);
      await this.log.markApplied(pending);
    } finally {
      await prepared.discard();
    }
    await removeUnfinished(this.#hidden, await readdir(this.#hidden));
  }

  /** A user may write a key into their own file, but the history does not copy it. */
  async #withoutSecrets(plan: CommitPlan, scanned?: ReadonlySet<string | undefined>): Promise<CommitPlan> {
    const textByHash = new Map(plan.textByHash);
    for (const [hash, text] of plan.textByHash)
      if (scanned?.has(text) !== true && (await this.#scanner.scan(text)).length > 0) textByHash.delete(hash);
    return { ...plan, textByHash };
  }

  #isBehind(seen: ReadonlyMap<string, SeenFile>): boolean {
    const { recorded, pending, origins, isDoubtful } = this.log;
    if (pending !== undefined || isDoubtful) return true;
    return planHandEdits({ currentByPath: seen, recorded, now: this.#options.deps.now() }, origins) !== undefined;
  }

  #describe(
    seen: ReadonlyMap<string, SeenFile>,
    unknownTrust: RecordedFile["trust"] = "untrusted",
  ): readonly MemoryText[] {
    const { recorded: log } = this.log;
    return [...seen].map(([path, file]) => {
      const { modifiedMs } = file;
      const known = log.fileByPath.get(path);
      if (known?.hash === file.hash) return this.#describeRecorded({ path, file, modifiedMs, recorded: known });
      const provenance = { at: modifiedMs, trust: unknownTrust };
      const revision = log.nextRevision();
      const recorded = {
        hash: file.hash,
        at: modifiedMs,
        revision,
        author: "user",
        provenance,
        trust: unknownTrust,
      } as const;
      return describeMemory({ path, file, modifiedMs, recorded });
    });
  }

  /** Parsed once: a directory is looked at many times, and seldom changes. */
  #describeRecorded(described: Parameters<typeof describeMemory>[0]): MemoryText {
    const { path, recorded, file, modifiedMs } = described;
    const known = this.#describedByPath.get(path);
    if (known?.recorded === recorded && known.memory.modifiedMs === modifiedMs && known.memory.hash === file.hash)
      return known.memory;
    const memory = describeMemory(described);
    this.#describedByPath.set(path, { recorded, memory });
    return memory;
  }

  /** Waits for other writers. */
  async #locked<Outcome>(act: (lease: Lease) => Promise<Outcome>): Promise<Outcome | Busy | WriteFailure> {
    if (this.#options.access === "read-only") return readOnlyFailure(this.folder.path);
    try {
      const problem = await this.#makeFolders();
      if (problem !== undefined) return problem;
      const acquired = await this.#acquire();
      if (acquired.kind !== "acquired") return acquired;
      try {
        return await act(acquired.lease);
      } finally {
        await acquired.lease.release();
      }
    } catch (error) {
      return isLink(error) ? linkFailure(this.folder.path) : writeFailure(error, this.folder.path);
    }
  }

  async #makeFolders(): Promise<WriteFailure | undefined> {
    const { path } = this.folder;
    if (lstatSync(this.#hidden, { throwIfNoEntry: false })?.isDirectory() !== true) await makeFolder(this.#hidden);
    const expected = join(realpathSync(dirname(path)), basename(path), ".history");
    return realpathSync(this.#hidden) === expected ? undefined : linkFailure(path);
  }

  async #acquire(): ReturnType<typeof acquireLock> {
    const { deps } = this.#options;
    const lockDeps = { ...deps, host: hostname(), lookAtProcess };
    const until = performance.now() + memoryLockWaitMs;
    for (;;) {
      const acquired = await acquireLock(lockDeps, join(this.#hidden, "lock"));
      if (acquired.kind !== "busy" || performance.now() > until) return acquired;
      await wait(memoryLockPauseMs.min + Math.random() * (memoryLockPauseMs.max - memoryLockPauseMs.min));
    }
  }

  /** One call after the other: the log and the scan belong together. */
  #enqueue<Result>(call: () => Promise<Result>): Promise<Result> {
    const result = this.#lastCall.then(call);
    this.#lastCall = result.catch(() => undefined);
    return result;
  }
}

interface CarryOutOptions {
  readonly lease: Lease;
  /** Texts in which no secret was found. The others, the index above all, may hold what a user wrote by hand. */
  readonly scanned?: ReadonlySet<string | undefined>;
}

interface Busy {
  readonly kind: "busy";
  readonly holder: string;
}

const failure = (message: string): WriteFailure => ({ kind: "failed", why: "io", message });
const linkFailure = (path: string): WriteFailure =>
  failure(`${path}: a link stands in its place, or in that of a folder in it; it is not followed.`);
const readOnlyFailure = (path: string): WriteFailure => ({
  kind: "failed",
  why: "read-only",
  message: `${path} belongs to another program and is only read.`,
});
const lostLock = (path: string): WriteFailure => failure(`${path}: another process took the lock. Try again.`);
