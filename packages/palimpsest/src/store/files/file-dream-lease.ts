import { lstatSync, realpathSync } from "node:fs";
import { readdir, rename, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { basename, dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { z } from "zod";
import type { WriteFailure } from "../../ports/blobs.ts";
import type { ClockDep, IdsDep } from "../../ports/clock-dep.ts";
import type { DreamLease, DreamLeaseOutcome, DreamLeases } from "../../ports/dream-lease.ts";
import { millis, type Millis } from "../../schema/brand.ts";
import { tryParseJson } from "../../schema/json.ts";
import { dreamFreeTriesMax, dreamGuardPauseMs, dreamGuardWaitMs, dreamOverdueMs } from "../limits.ts";
import {
  createFile,
  isAbsent,
  isTemporaryFor,
  makeFolder,
  syncFolder,
  temporaryPath,
  writeAll,
  writeFailure,
} from "./disk.ts";
import { acquireLock, createLockRecord, judgeLock, type LockDeps, readLock } from "./file-leases.ts";
import { lookAtProcess } from "./look-at-process.ts";

interface FileDreamLeasesOptions {
  readonly deps: ClockDep & IdsDep;
  /** The memory directory; created when the first lease is acquired. */
  readonly folder: string;
  /** How machines and processes are identified; this machine by default. */
  readonly lockDeps?: LockDeps | undefined;
  /** How long another process is waited for that changes the file just now. */
  readonly guardWaitMs?: Millis | undefined;
}

/**
 * The lease is the file `.consolidate-lock` of a memory directory. Its modification time is when the last dream began, its
 * text is empty; while a dream runs, the text names the process and the time before. Each state appears in one step, by a
 * rename, so that a kill leaves the one before or the one after. Who changes it holds `.history/dream-guard` meanwhile.
 */
export function fileDreamLeases(options: FileDreamLeasesOptions): DreamLeases {
  const path = join(options.folder, ".consolidate-lock");
  const deps = { ...options.deps, ...(options.lockDeps ?? { host: hostname(), lookAtProcess }) };
  const lock = new DreamLock({ ...deps, guardWaitMs: options.guardWaitMs ?? dreamGuardWaitMs }, path);
  return {
    lastAt: async () => lock.look().then(({ lastAt }) => lastAt),
    acquire: async () => {
      try {
        return await lock.acquire();
      } catch (error) {
        return writeFailure(error, path);
      }
    },
  };
}

/** What a process writes into the file beside what names it. Null: nobody had dreamt before. */
const runningShape = z.object({ token: z.string(), earlierMs: z.number().nullable() });

interface SeenDream {
  /** When the last dream began that did not fail. */
  readonly lastAt: Millis | undefined;
  /** Absent if nothing runs and nothing has crashed. */
  readonly running?: { readonly token: string | undefined; readonly since: Millis } | undefined;
}

interface DreamLockDeps extends ClockDep, IdsDep, LockDeps {
  readonly guardWaitMs: Millis;
}

class DreamLock {
  readonly #deps: DreamLockDeps;
  readonly #path: string;

  constructor(deps: DreamLockDeps, path: string) {
    this.#deps = deps;
    this.#path = path;
  }

  async look(): Promise<SeenDream> {
    try {
      const stats = lstatSync(this.#path, { throwIfNoEntry: false });
      if (stats === undefined || !stats.isFile()) return { lastAt: undefined };
      const modified = millis(Math.round(stats.mtimeMs));
      if (stats.size === 0) return { lastAt: modified };
      const seen = await readLock(this.#path);
      const running = runningShape.safeParse(tryParseJson(seen?.raw ?? "")).data;
      // A text that is not ours tells no earlier time: the file's own counts, so that nobody dreams too often.
      if (running === undefined) return { lastAt: modified, running: { token: undefined, since: modified } };
      const lastAt = running.earlierMs === null ? undefined : millis(running.earlierMs);
      return { lastAt, running: { token: running.token, since: modified } };
    } catch (error) {
      if (isAbsent(error)) return { lastAt: undefined };
      // Nobody may write here either: what can't be read is never due.
      return { lastAt: this.#deps.now() };
    }
  }

  async acquire(): Promise<DreamLeaseOutcome> {
    const problem = await this.#makeFolders();
    if (problem !== undefined) return problem;
    return this.#guarded(async () => {
      const { lastAt, running } = await this.look();
      const busy = running === undefined ? undefined : await this.#judge(running.since);
      if (busy !== undefined) return busy;
      await this.#removeUnfinished();
      const token = this.#deps.uuid();
      const record = { ...(await createLockRecord(this.#deps, token)), earlierMs: lastAt ?? null };
      const now = this.#deps.now();
      await this.#replace(`${JSON.stringify(record)}\n`, now);
      if ((await this.look()).running?.token !== token) return lostLease(this.#path);
      return { kind: "acquired", lease: this.#createLease({ token, lastAt, now }) };
    });
  }

  /** Undefined if the process is gone, so that the lease may be taken over. */
  async #judge(since: Millis): Promise<DreamLeaseOutcome | undefined> {
    const seen = await readLock(this.#path);
    const verdict = seen === undefined ? undefined : await judgeLock(this.#deps, seen);
    if (verdict?.kind !== "held") return undefined;
    const state = this.#deps.now() - since > dreamOverdueMs ? "overdue" : "running";
    return { kind: "busy", holder: verdict.holder, since, state };
  }

  #createLease({ token, lastAt, now }: HeldDream): DreamLease {
    let ended: Promise<void> | undefined;
    const end = (at: Millis | undefined): Promise<void> => (ended ??= this.#free(token, at));
    return { lastAt, succeed: () => end(now), fail: () => end(lastAt) };
  }

  /** If the disk refuses or the guard stays held, the text stays until this process ends; then it counts as a crash. */
  async #free(token: string, at: Millis | undefined): Promise<void> {
    try {
      for (let attempt = 0; attempt < dreamFreeTriesMax; attempt += 1) {
        const outcome = await this.#guarded(async () => {
          if ((await this.look()).running?.token !== token) return lostLease(this.#path);
          if (at === undefined) await rm(this.#path, { force: true });
          else await this.#replace("", at);
          return undefined;
        });
        if (outcome?.kind !== "busy") return;
      }
    } catch (error) {
      writeFailure(error, this.#path);
    }
  }

  async #replace(text: string, at: Millis): Promise<void> {
    const temporary = temporaryPath(join(dirname(this.#path), ".history", "dream"));
    try {
      const file = await createFile(temporary);
      try {
        const written = await writeAll(file, Buffer.from(text));
        if (written.kind === "part") throw written.error;
        await file.utimes(at / 1000, at / 1000);
        await file.datasync();
      } finally {
        await file.close();
      }
      await rename(temporary, this.#path);
      await syncFolder(dirname(this.#path));
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
  }

  /** What a killed process had not renamed yet. Only under the guard. */
  async #removeUnfinished(): Promise<void> {
    const hidden = join(dirname(this.#path), ".history");
    for (const name of await readdir(hidden))
      if (isTemporaryFor(name, join(hidden, "dream"))) await rm(join(hidden, name), { force: true });
  }

  async #guarded<Outcome>(act: () => Promise<Outcome>): Promise<Outcome | Guarded> {
    const until = performance.now() + this.#deps.guardWaitMs;
    for (;;) {
      const guard = await acquireLock(this.#deps, join(dirname(this.#path), ".history", "dream-guard"));
      if (guard.kind === "failed") return guard;
      if (guard.kind === "busy") {
        if (performance.now() > until)
          return { kind: "busy", holder: guard.holder, since: undefined, state: "running" } as const;
        await wait(dreamGuardPauseMs + Math.random() * dreamGuardPauseMs);
        continue;
      }
      try {
        return await act();
      } finally {
        await guard.lease.release();
      }
    }
  }

  /** A link in place of a folder is not followed. */
  async #makeFolders(): Promise<WriteFailure | undefined> {
    const folder = dirname(this.#path);
    const hidden = join(folder, ".history");
    await makeFolder(hidden);
    const expected = join(realpathSync(dirname(folder)), basename(folder), ".history");
    return realpathSync(hidden) === expected
      ? undefined
      : { kind: "failed", why: "io", message: `${folder}: a link stands in its place; it is not followed.` };
  }
}

type Guarded = Extract<DreamLeaseOutcome, { kind: "busy" | "failed" }>;

interface HeldDream {
  readonly token: string;
  readonly lastAt: Millis | undefined;
  readonly now: Millis;
}

const lostLease = (path: string): WriteFailure => ({
  kind: "failed",
  why: "io",
  message: `${path}: another process has written it meanwhile.`,
});
