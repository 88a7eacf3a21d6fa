/** Counts the changes that this process makes to the disk and kills it at one of them: before it, or in the middle of a write. */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

export interface DiskWatch {
  /** One name a change, in their order. */
  readonly changes: string[];
  /** Counts and kills only while this is set. */
  counting: boolean;
}

export interface KillPlan {
  /** Index of the change. */
  readonly at: number;
  readonly how: "before" | "half";
}

type Method = (this: unknown, ...args: unknown[]) => unknown;

export async function watchDisk(kill: KillPlan | undefined): Promise<DiskWatch> {
  const watch: DiskWatch = { changes: [], counting: false };
  const watched = (name: string, method: Method): Method =>
    function watchedMethod(this: unknown, ...args: unknown[]): unknown {
      if (watch.counting && watch.changes.length === kill?.at) {
        // Changes that run side by side may come in another order than when they were counted: only a write has a middle.
        if (kill.how === "half" && name === "write")
          halfWrite(typeof this === "object" ? [readFd(this), ...args] : args);
        die();
      }
      if (watch.counting) watch.changes.push(name);
      return Reflect.apply(method, this, args);
    };
  const file = await fs.promises.open(process.execPath, "r");
  const handle = Object.getPrototypeOf(file) as Record<string, Method>;
  await file.close();
  for (const name of ["write", "truncate", "sync", "datasync", "chmod", "utimes"]) {
    const method = handle[name];
    if (method !== undefined) handle[name] = watched(name, method);
  }
  const promises = fs.promises as unknown as Record<string, Method>;
  for (const name of ["link", "rename", "rm", "rmdir", "mkdir", "chmod", "symlink"]) {
    const method = promises[name];
    if (method !== undefined) promises[name] = watched(name, method);
  }
  const direct = watched("write", writeSync as Method);
  // What the process says on its standard output is no change to the disk.
  const write = (...args: unknown[]): unknown =>
    Number(args[0]) > 2 ? Reflect.apply(direct, undefined, args) : Reflect.apply(writeSync as Method, undefined, args);
  fs.writeSync = write as typeof fs.writeSync;
  syncBuiltinESMExports();
  return watch;
}

const { writeSync } = fs;

const readFd = (file: unknown): number => (file as { fd: number }).fd;

function halfWrite([fd, data, offset, length]: unknown[]): void {
  writeSync(Number(fd), data as Uint8Array, Number(offset), Math.floor(Number(length) / 2));
}

function die(): never {
  process.kill(process.pid, "SIGKILL");
  // The signal is there before the call returns; this is for the compiler.
  throw new Error("still alive");
}
