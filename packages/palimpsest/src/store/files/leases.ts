import { hostname } from "node:os";
import { join } from "node:path";
import type { ClockDep } from "../../ports/clock.ts";
import type { IdsDep } from "../../ports/ids.ts";
import type { Leases } from "../../ports/leases.ts";
import { sessionId } from "../../schema/brand.ts";
import { isSessionName } from "../session-name.ts";
import { makeFolder } from "./disk.ts";
import { writeFailure } from "./failure.ts";
import { acquireLock } from "./lock.ts";
import { judge, type LockDeps, readLock } from "./lock-content.ts";
import { lookAtProcess } from "./look-at-process.ts";

export interface FileLeasesOptions {
  readonly deps: ClockDep & IdsDep;
  /** `<home>/projects/<slug>`; made when the first lease is acquired. */
  readonly folder: string;
  /** How machines and processes are told apart; this machine's own by default. */
  readonly lockDeps?: LockDeps | undefined;
}

/** One small file a lease, beside the transcripts. */
export function fileLeases({ deps, folder, lockDeps }: FileLeasesOptions): Leases {
  const lock = { ...deps, ...(lockDeps ?? { host: hostname(), lookAtProcess }) };
  const pathOf = (name: string): string => join(folder, `${name}.lock`);
  return {
    acquire: async (name) => {
      if (!isSessionName(sessionId(name))) return badName(name);
      try {
        await makeFolder(folder);
      } catch (error) {
        return writeFailure(error, pathOf(name));
      }
      return acquireLock(lock, pathOf(name));
    },
    look: async (name) => {
      const seen = isSessionName(sessionId(name)) ? await readLock(pathOf(name)) : undefined;
      if (seen === undefined) return { kind: "free" };
      const verdict = await judge(lock, seen);
      return verdict.kind === "stale" ? { kind: "left" } : verdict;
    },
  };
}

const badName = (name: string) =>
  ({ kind: "failed", why: "io", message: `${JSON.stringify(name)} can't be a file's name.` }) as const;
