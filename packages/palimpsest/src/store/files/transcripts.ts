import { type FileHandle, constants, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type SessionId, bytes } from "../../schema/brand.ts";
import type { WriteFailure } from "../../ports/blobs.ts";
import type { ClockDep } from "../../ports/clock.ts";
import type { IdsDep } from "../../ports/ids.ts";
import type { Lease, Leases } from "../../ports/leases.ts";
import type { AdoptedCopy, ByteSource, Durability, OpenForWriting, Transcripts } from "../../ports/transcripts.ts";
import { isSessionName } from "../session-name.ts";
import { adoptCopy } from "./adopt-copy.ts";
import { byteSourceOfOwnFile } from "./byte-source.ts";
import { asideFolder } from "./copy-aside.ts";
import { createFile, exists, openItself, publish, syncFolder, temporaryBeside } from "./disk.ts";
import { isAbsent, isLink, isTaken, writeFailure } from "./failure.ts";
import { healTail } from "./heal-tail.ts";
import { fileLeases } from "./leases.ts";
import type { LockDeps } from "./lock-content.ts";
import { transcriptWriter } from "./writer.ts";

export interface FileTranscriptsOptions {
  readonly deps: ClockDep & IdsDep;
  /** `<home>/projects/<slug>`; made when the first session is. */
  readonly folder: string;
  readonly durability: Durability;
  /** How locks tell machines and processes apart; this machine's own by default. */
  readonly lockDeps?: LockDeps;
}

interface Store extends FileTranscriptsOptions {
  readonly leases: Leases;
}

export function fileTranscripts(options: FileTranscriptsOptions): Required<Transcripts> {
  const store: Store = { ...options, leases: fileLeases(options) };
  return {
    create: (id) => create(store, id),
    openForWriting: (id) => openForWriting(store, id),
    openForReading: (id) => openForReading(store, id),
    adopt: (copy) => adopt(store, copy),
    linkTo: (id) => (isSessionName(id) ? transcriptPath(store, id) : undefined),
  };
}

const transcriptPath = (store: Store, id: SessionId): string => join(store.folder, `${id}.jsonl`);

async function openForReading(store: Store, id: SessionId): Promise<ByteSource | undefined> {
  if (!isSessionName(id)) return undefined;
  const opened = await byteSourceOfOwnFile(transcriptPath(store, id));
  // With the system's name for it, by which a caller tells the machine's refusal from a bug.
  if (opened.kind === "unreadable") throw Object.assign(new Error(opened.message), { code: opened.code });
  return opened.kind === "open" ? opened.source : undefined;
}

async function openForWriting(store: Store, id: SessionId): Promise<OpenForWriting> {
  if (!isSessionName(id)) return { kind: "missing" };
  const path = transcriptPath(store, id);
  return await locked({ store, id, expects: "present" }, async (lease) => {
    const file = await openItself(path, constants.O_RDWR | constants.O_APPEND);
    return await orClose(file, async () => {
      const { size, setAside } = await healTail(file, asideFolder(path, id));
      const writer = transcriptWriter({ id, path, file, size, lease, durability: store.durability, made: "before" });
      return { kind: "open", writer, setAside };
    });
  });
}

async function create(store: Store, id: SessionId): Promise<OpenForWriting> {
  if (!isSessionName(id)) return badName(id);
  const path = transcriptPath(store, id);
  return await locked({ store, id, expects: "absent" }, async (lease) => {
    const file = await createFile(path);
    return await orRemove({ file, path }, async () => {
      await syncNewFile(store, file);
      const { durability } = store;
      const writer = transcriptWriter({ id, path, file, size: bytes(0), lease, durability, made: "here" });
      return { kind: "open", writer, setAside: undefined };
    });
  });
}

/** The copy gets the session's name only when it is whole: a crash on the way leaves no half session. */
async function adopt(store: Store, copy: AdoptedCopy): Promise<OpenForWriting> {
  const { id } = copy;
  if (!isSessionName(id)) return badName(id);
  const path = transcriptPath(store, id);
  return await locked({ store, id, expects: "absent" }, async (lease) => {
    const temporary = temporaryBeside(path);
    const file = await createFile(temporary);
    return await orRemove({ file, path: temporary }, async () => {
      const failure = await adoptCopy({ file, path, copy });
      if (failure !== undefined) return failure;
      if (store.durability !== "never") await file.datasync();
      if ((await publish(temporary, path)) === "taken") return { kind: "exists" };
      await syncPublished(store, path);
      const { size } = await file.stat();
      const { durability } = store;
      const writer = transcriptWriter({ id, path, file, size: bytes(size), lease, durability, made: "before" });
      return { kind: "open", writer, setAside: undefined };
    });
  });
}

async function syncPublished(store: Store, path: string): Promise<void> {
  if (store.durability === "never") return;
  try {
    await syncFolder(store.folder);
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}

interface Locked {
  readonly store: Store;
  readonly id: SessionId;
  readonly expects: "present" | "absent";
}

/** Looks before it locks: a session that is not there, or must not be, leaves no trace of the attempt. */
async function locked(options: Locked, act: (lease: Lease) => Promise<OpenForWriting>): Promise<OpenForWriting> {
  const { store, id, expects } = options;
  const path = transcriptPath(store, id);
  try {
    const present = await exists(path);
    if (expects === "present" && !present) return { kind: "missing" };
    if (expects === "absent" && present) return { kind: "exists" };
  } catch (error) {
    return writeFailure(error, path);
  }
  const outcome = await store.leases.acquire(id);
  if (outcome.kind !== "acquired") return outcome;
  const result = await act(outcome.lease).catch((error: unknown) => refusalOf(error, options));
  if (result.kind !== "open") await outcome.lease.release();
  return result;
}

function refusalOf(error: unknown, { store, id, expects }: Locked): OpenForWriting {
  if (expects === "absent" && isTaken(error)) return { kind: "exists" };
  if (expects === "present" && (isAbsent(error) || isLink(error))) return { kind: "missing" };
  return writeFailure(error, transcriptPath(store, id));
}

async function syncNewFile(store: Store, file: FileHandle): Promise<void> {
  if (store.durability === "never") return;
  await file.sync();
  await syncFolder(store.folder);
  await syncFolder(dirname(store.folder));
}

async function orClose(file: FileHandle, act: () => Promise<OpenForWriting>): Promise<OpenForWriting> {
  try {
    return await act();
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Takes back its own unfinished file, whether the work was refused or threw. */
async function orRemove(
  made: { file: FileHandle; path: string },
  act: () => Promise<OpenForWriting>,
): Promise<OpenForWriting> {
  const undo = async () => {
    await made.file.close();
    await rm(made.path, { force: true });
  };
  try {
    const result = await act();
    if (result.kind !== "open") await undo();
    return result;
  } catch (error) {
    await undo();
    throw error;
  }
}

const badName = (id: SessionId): WriteFailure => ({
  kind: "failed",
  why: "io",
  message: `${JSON.stringify(id)} can't be a session's name: use letters, digits, - and _.`,
});
