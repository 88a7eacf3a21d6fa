import { closeSync, constants, fstatSync, lstatSync } from "node:fs";
import { type FileHandle, readdir, rm } from "node:fs/promises";
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { basename, dirname, join } from "node:path";
import { setImmediate as yieldOnce, setTimeout as wait } from "node:timers/promises";
import type { WriteFailure } from "../../ports/blobs.ts";
import type { ClockDep, IdsDep } from "../../ports/clock-dep.ts";
import type { Lease } from "../../ports/store.ts";
import type { Durability } from "../../ports/transcripts.ts";
import { type Json, tryParseJson } from "../../schema/json.ts";
import { mailboxLockLooksMax, mailboxLockPauseMs, mailboxLockWaitMs, temporaryLeftMs } from "../limits.ts";
import {
  createFile,
  isTaken,
  isTemporaryFor,
  openNoFollow,
  replaceFile,
  syncFolder,
  temporaryShape,
  writeAll,
} from "./disk.ts";
import { acquireLock, type LockDeps } from "./file-leases.ts";
import { lookAtProcess, type ProcessState } from "./look-at-process.ts";
import { openIfThere, readPart } from "./memory-log.ts";

/** A line's place in the file, without its newline. */
export interface LinePlace {
  readonly start: number;
  readonly end: number;
}

/** The text of a line, from the file whose lines were just read. */
export type ReadLine = (place: LinePlace) => string;

interface LineLogOptions {
  readonly path: string;
  /** All lines are read again: the file is another one. */
  readonly onReset: () => void;
  /** Undefined: the line is no JSON. */
  readonly onLine: (line: Json | undefined, place: LinePlace) => void;
}

/**
 * A file of JSON lines that several processes read, and append to under a lock of theirs.
 *
 *   {"log":"<id>"}     the first line: a rewritten file has a new id, and its readers start again
 *   …                  a line without its newline was never written: it is not read, and the next writer cuts it off
 *
 * Reading takes no lock: bytes before a newline never change. It is synchronous: a few small reads are quicker than as many
 * trips to another thread.
 */
export class LineLog {
  readonly path: string;
  readonly #onReset: () => void;
  readonly #onLine: LineLogOptions["onLine"];
  #id = "";
  #end = 0;
  #size = 0;

  constructor({ path, onReset, onLine }: LineLogOptions) {
    this.path = path;
    this.#onReset = onReset;
    this.#onLine = onLine;
  }

  /** Reads the lines that are new, then calls `use` with the same file. Throws what the disk throws. */
  look<Value>(use: (read: ReadLine) => Value): Value {
    const file = openIfThere(this.path);
    if (file === undefined) {
      this.#reset("");
      return use(() => "");
    }
    try {
      this.#refresh(file);
      return use((place) => decode(readPart(file, place)));
    } finally {
      closeSync(file);
    }
  }

  /** One write. Only under the lock, after a `look`. */
  async append(lines: readonly string[], sync: "synced" | "unsynced"): Promise<void> {
    const file = await this.#openForAppend();
    try {
      if (this.#size > this.#end) await file.truncate(this.#end);
      const head = this.#end === 0 ? [newHead()] : [];
      const written = await writeAll(file, encodeLines([...head, ...lines]));
      if (written.kind === "part") {
        await file.truncate(this.#end);
        throw written.error;
      }
      if (sync === "synced") await file.datasync();
      if (sync === "synced" && this.#end === 0) await syncFolder(dirname(this.path));
    } finally {
      await file.close();
    }
  }

  /** Puts other lines in place of all, in one step. Only under the lock. */
  async rewrite(lines: readonly string[], sync: "synced" | "unsynced"): Promise<void> {
    await removeLeftTemporaries(this.path);
    await replaceFile({ path: this.path, data: encodeLines([newHead(), ...lines]), sync });
  }

  #refresh(file: number): void {
    const { size } = fstatSync(file);
    const head = decode(readPart(file, { start: 0, end: Math.min(size, headBytesMax) }));
    const id = headShape.exec(head)?.[1] ?? "";
    if (id !== this.#id || size < this.#end) this.#reset(id);
    if (size > this.#end) this.#readLines(readPart(file, { start: this.#end, end: size }));
    this.#size = size;
  }

  #readLines(data: Uint8Array): void {
    for (let start = 0; ;) {
      const end = data.indexOf(newline, start);
      if (end === -1) return;
      const place = { start: this.#end, end: this.#end + end - start };
      this.#end = place.end + 1;
      if (place.start > 0) this.#onLine(tryParseJson(decode(data.subarray(start, end))), place);
      start = end + 1;
    }
  }

  #reset(id: string): void {
    if (this.#end > 0) this.#onReset();
    this.#id = id;
    this.#end = 0;
    this.#size = 0;
  }

  async #openForAppend(): Promise<FileHandle> {
    try {
      return await createFile(this.path);
    } catch (error) {
      if (!isTaken(error)) throw error;
      return await openNoFollow(this.path, constants.O_RDWR | constants.O_APPEND);
    }
  }
}

const newline = 0x0a;
const headBytesMax = 64;
const headShape = /^\{"log":"([0-9a-f-]{36})"\}\n/;
const newHead = (): string => JSON.stringify({ log: randomUUID() });
const encodeLines = (lines: readonly string[]): Buffer => Buffer.from(lines.map((line) => `${line}\n`).join(""));
const decode = (data: Uint8Array): string => new TextDecoder().decode(data);

/** Left by writers that were killed. Only under the lock; those of the lock itself may be in use for a moment. */
async function removeLeftTemporaries(path: string): Promise<void> {
  const folder = dirname(path);
  for (const name of await readdir(folder)) {
    if (!temporaryShape.test(name)) continue;
    const left = join(folder, name);
    const { mtimeMs } = lstatSync(left, { throwIfNoEntry: false }) ?? { mtimeMs: 0 };
    if (isTemporaryFor(name, path) || Date.now() - mtimeMs > temporaryLeftMs) await rm(left, { force: true });
  }
}

export type LogLockDeps = ClockDep & IdsDep & LockDeps;

export const createLogLockDeps = (deps: ClockDep & IdsDep): LogLockDeps => {
  // Who we are does not change; it is asked for with every lock.
  let self: Promise<ProcessState> | undefined;
  return {
    ...deps,
    host: hostname(),
    lookAtProcess: (pid) => (pid === process.pid ? (self ??= lookAtProcess(pid)) : lookAtProcess(pid)),
  };
};

type LockWaitOutcome = { readonly kind: "acquired"; readonly lease: Lease } | WriteFailure;

/** Waits for the lock. Looks at it before it tries, because a try writes to the disk. */
export async function waitForLock(deps: LogLockDeps, path: string): Promise<LockWaitOutcome> {
  const until = performance.now() + mailboxLockWaitMs;
  for (let looks = 0; ; looks += 1) {
    const isDue = looks % mailboxLockLooksMax === mailboxLockLooksMax - 1;
    if (isDue || lstatSync(path, { throwIfNoEntry: false }) === undefined) {
      const outcome = await acquireLock(deps, path);
      if (outcome.kind !== "busy") return outcome;
      if (performance.now() > until) return busyFailure(path, outcome.holder);
    }
    // It is held for less than a millisecond, which is the shortest pause of a timer.
    await (looks < mailboxLockLooksMax ? yieldOnce() : wait(mailboxLockPauseMs * (1 + 3 * Math.random())));
  }
}

const busyFailure = (path: string, holder: string): WriteFailure => ({
  kind: "failed",
  why: "io",
  message: `${basename(dirname(path))} is locked by ${holder}. Try again.`,
});

export const toSync = (durability: Durability): "synced" | "unsynced" =>
  durability === "never" ? "unsynced" : "synced";
