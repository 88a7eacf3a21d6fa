/**
 * Compacts a session and kills itself at the nth change it makes to the disk: before it, or in the middle of a write.
 * Without a number it goes through and says how that went. Run by the crash scenarios.
 */
import { randomUUID } from "node:crypto";
import fs, { writeSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { appendBoundary } from "../../../src/loop/boundary.ts";
import { openSession } from "../../../src/loop/session.ts";
import { millis, sessionId } from "../../../src/schema/brand.ts";
import { fileBlobs } from "../../../src/store/files/blobs.ts";
import { fileTranscripts } from "../../../src/store/files/transcripts.ts";

const [folder = "", id = "", summary = "", killAtText = "", how = ""] = process.argv.slice(2);
const killAt = killAtText === "" ? Infinity : Number(killAtText);
const changes: string[] = [];
let counting = false;

const die = (): never => {
  process.kill(process.pid, "SIGKILL");
  // The signal is there before the call returns; this is for the compiler.
  throw new Error("still alive");
};

type Method = (this: unknown, ...args: unknown[]) => unknown;

/** Counts each call as a change. */
function watched(name: string, method: Method): Method {
  return function watch(this: unknown, ...args: unknown[]): unknown {
    if (counting && changes.length === killAt) {
      if (how === "half") halfWrite.call(this, args);
      die();
    }
    if (counting) changes.push(name);
    return Reflect.apply(method, this, args);
  };
}

function halfWrite(this: unknown, [data, offset, length]: unknown[]): void {
  const { fd } = this as { fd: number };
  writeSync(fd, data as Uint8Array, Number(offset), Math.floor(Number(length) / 2));
}

async function watchDisk(): Promise<void> {
  const file = await fs.promises.open(process.execPath, "r");
  const handle = Object.getPrototypeOf(file) as Record<string, Method>;
  await file.close();
  for (const name of ["write", "sync", "datasync", "chmod"]) {
    const method = handle[name];
    if (method !== undefined) handle[name] = watched(name, method);
  }
  const promises = fs.promises as unknown as Record<string, Method>;
  for (const name of ["link", "rename", "rm", "mkdir", "chmod", "symlink"]) {
    const method = promises[name];
    if (method !== undefined) promises[name] = watched(name, method);
  }
  syncBuiltinESMExports();
}

await watchDisk();
const base = { now: () => millis(Date.now()), uuid: () => randomUUID() };
const deps = {
  ...base,
  transcripts: fileTranscripts({ deps: base, folder, durability: "turn" }),
  blobs: fileBlobs({ folder, durability: "turn" }),
};
const opened = await openSession(deps, {
  id: sessionId(id),
  circumstances: { cwd: "/project", version: "0.0.0" },
  mode: "resume",
});
if (opened.kind !== "open") throw new Error(`not open: ${opened.kind}`);
const { session } = opened;
const before = JSON.stringify(session.view().messages);
counting = true;
const outcome = await appendBoundary(deps, session, { summary, trigger: "manual" });
await session.endTurn();
counting = false;
const view = JSON.stringify(session.view().messages) === before ? "as before" : "changed";
writeSync(1, `${JSON.stringify({ outcome: { ...outcome, receipt: undefined }, view, changes })}\n`);
