import { constants, lstat, open } from "node:fs/promises";
import { z } from "zod";
import { parseJson } from "../../schema/json.ts";
import type { ClockDep } from "../../ports/clock.ts";
import { recordBytesMax, unreadableLockStaleMs } from "../limits.ts";
import { readRange } from "./byte-source.ts";
import { isAbsent, isLink } from "./failure.ts";
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
  /** `foreign`: a link, a pipe or a socket. No process of ours ever puts one there. */
  readonly kind: "file" | "foreign";
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

/** Never waits and follows no link: the open of a pipe would otherwise last until somebody writes into it. */
export async function readLock(path: string): Promise<SeenLock | undefined> {
  try {
    const named = await lstat(path, { bigint: true });
    if (!named.isFile() && !named.isDirectory()) return foreignLock(path, named);
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const opened = await file.stat({ bigint: true });
      if (!opened.isFile() && !opened.isDirectory()) return foreignLock(path, opened);
      const raw = Buffer.from(await readRange(file, { start: 0, end: recordBytesMax })).toString("utf8");
      const { ino, mtimeMs } = opened;
      return { path, kind: "file", raw, record: recordIn(raw), ino, mtimeMs: Number(mtimeMs) };
    } finally {
      await file.close();
    }
  } catch (error) {
    // Put there since it was looked at; whoever tries again sees the link itself.
    if (isAbsent(error) || isLink(error)) return undefined;
    throw error;
  }
}

const foreignLock = (path: string, { ino, mtimeMs }: { ino: bigint; mtimeMs: bigint }): SeenLock => ({
  path,
  kind: "foreign",
  raw: "",
  record: undefined,
  ino,
  mtimeMs: Number(mtimeMs),
});

function recordIn(raw: string): LockRecord | undefined {
  try {
    return lockShape.safeParse(parseJson(raw)).data;
  } catch {
    return undefined;
  }
}

export const sameLock = (a: SeenLock, b: SeenLock): boolean => a.kind === b.kind && a.ino === b.ino && a.raw === b.raw;

/** Stale only on proof: a process that can't be seen from here may well be writing. */
export async function judge(deps: LockDeps & ClockDep, seen: SeenLock): Promise<Verdict> {
  const { record } = seen;
  if (seen.kind === "foreign") return { kind: "stale" };
  if (record === undefined) {
    // A date in the future says that a clock was set, not that the lock is young: it would be held until that date.
    const age = Math.abs(deps.now() - seen.mtimeMs);
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
