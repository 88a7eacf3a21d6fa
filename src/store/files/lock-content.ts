import { open } from "node:fs/promises";
import { z } from "zod";
import { parseJson } from "../../schema/json.ts";
import type { ClockDep } from "../../ports/clock.ts";
import { recordBytesMax, unreadableLockStaleMs } from "../limits.ts";
import { readRange } from "./byte-source.ts";
import { isAbsent } from "./failure.ts";
import type { LookAtProcess } from "./look-at-process.ts";

const lockShape = z.object({
  token: z.string().min(1),
  pid: z.int().positive(),
  /** Null where the system does not tell. */
  processStarted: z.string().nullable(),
  host: z.string(),
  since: z.string(),
});
type LockRecord = z.infer<typeof lockShape>;

export interface LockDeps {
  readonly host: string;
  readonly lookAtProcess: LookAtProcess;
}

/** A lock file as it was at one moment; `record` is undefined where its content is not one. */
export interface SeenLock {
  readonly path: string;
  readonly raw: string;
  readonly record: LockRecord | undefined;
  readonly ino: bigint;
  readonly mtimeMs: number;
}

export type Verdict = { readonly kind: "held"; readonly holder: string } | { readonly kind: "stale" };

export async function lockContent(deps: LockDeps & ClockDep, token: string): Promise<Buffer> {
  const self = await deps.lookAtProcess(process.pid);
  const record: LockRecord = {
    token,
    pid: process.pid,
    processStarted: (self.kind === "alive" ? self.started : undefined) ?? null,
    host: deps.host,
    since: new Date(deps.now()).toISOString(),
  };
  return Buffer.from(`${JSON.stringify(record)}\n`);
}

export async function readLock(path: string): Promise<SeenLock | undefined> {
  try {
    const file = await open(path, "r");
    try {
      const { ino, mtimeMs } = await file.stat({ bigint: true });
      const raw = Buffer.from(await readRange(file, { start: 0, end: recordBytesMax })).toString("utf8");
      return { path, raw, record: recordIn(raw), ino, mtimeMs: Number(mtimeMs) };
    } finally {
      await file.close();
    }
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

function recordIn(raw: string): LockRecord | undefined {
  try {
    return lockShape.safeParse(parseJson(raw)).data;
  } catch {
    return undefined;
  }
}

export const sameLock = (a: SeenLock, b: SeenLock): boolean => a.ino === b.ino && a.raw === b.raw;

/** Stale only on proof: a process that can't be seen from here may well be writing. */
export async function judge(deps: LockDeps & ClockDep, seen: SeenLock): Promise<Verdict> {
  const { record } = seen;
  if (record === undefined) {
    const age = deps.now() - seen.mtimeMs;
    return age > unreadableLockStaleMs
      ? { kind: "stale" }
      : { kind: "held", holder: "a process that is just opening it" };
  }
  if (record.host !== deps.host) {
    const holder = `process ${record.pid} on ${record.host} since ${record.since} (if that process is gone, delete ${seen.path})`;
    return { kind: "held", holder };
  }
  const seenProcess = await deps.lookAtProcess(record.pid);
  if (seenProcess.kind === "dead") return { kind: "stale" };
  const { started } = seenProcess;
  if (started !== undefined && record.processStarted !== null && started !== record.processStarted)
    return { kind: "stale" };
  return { kind: "held", holder: `process ${record.pid} on this machine since ${record.since}` };
}
