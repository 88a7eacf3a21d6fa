import { type FileHandle, constants, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type SessionId, bytes, type Bytes } from "../../schema/brand.ts";
import type { WriteFailure } from "../../ports/blobs.ts";
import type { ClockDep, IdsDep } from "../../ports/clock-dep.ts";
import type { Lease, Leases } from "../../ports/store.ts";
import type {
  AdoptedCopy,
  ByteSource,
  Durability,
  OpenForWritingOutcome,
  Transcripts,
  SetAside,
} from "../../ports/transcripts.ts";
import { isSessionName } from "../is-session-name.ts";
import { openOwnFileSource, readRange } from "./file-source.ts";
import { asideFolderPath, copyAside, transcriptWriter } from "./transcript-writer.ts";
import {
  createFile,
  exists,
  openNoFollow,
  publish,
  syncFolder,
  temporaryPath,
  writeAll,
  isAbsent,
  isLink,
  isTaken,
  writeFailure,
} from "./disk.ts";
import { moveDetachedFiles } from "./file-deletion.ts";
import { fileLeases, type LockDeps } from "./file-leases.ts";
import { lineBuffer, readTail } from "../log-tail.ts";
import { copyChunkBytes } from "../limits.ts";

interface FileTranscriptsOptions {
  readonly deps: ClockDep & IdsDep;
  /** `<home>/projects/<slug>`; created with the first session. */
  readonly folder: string;
  readonly durability: Durability;
  /** How locks identify machines and processes; this machine by default. */
  readonly lockDeps?: LockDeps;
}

interface TranscriptStore extends FileTranscriptsOptions {
  readonly leases: Leases;
}

export function fileTranscripts(options: FileTranscriptsOptions): Required<Transcripts> {
  const store: TranscriptStore = { ...options, leases: fileLeases(options) };
  return {
    create: (id) => createTranscript(store, id),
    openForWriting: (id) => openForWriting(store, id),
    openForReading: (id) => openForReading(store, id),
    adopt: (copy) => adoptTranscript(store, copy),
    linkTo: (id) => (isSessionName(id) ? transcriptPath(store, id) : undefined),
  };
}

const transcriptPath = (store: TranscriptStore, id: SessionId): string => join(store.folder, `${id}.jsonl`);

async function openForReading(store: TranscriptStore, id: SessionId): Promise<ByteSource | undefined> {
  if (!isSessionName(id)) return undefined;
  const opened = await openOwnFileSource(transcriptPath(store, id));
  // The system's error code lets a caller tell an error of the system from a bug.
  if (opened.kind === "unreadable") throw Object.assign(new Error(opened.message), { code: opened.code });
  return opened.kind === "open" ? opened.source : undefined;
}

async function openForWriting(store: TranscriptStore, id: SessionId): Promise<OpenForWritingOutcome> {
  if (!isSessionName(id)) return { kind: "missing" };
  const path = transcriptPath(store, id);
  return await withLease({ store, id, expects: "present" }, async (lease) => {
    const file = await openNoFollow(path, constants.O_RDWR | constants.O_APPEND);
    return await closeOnError(file, async () => {
      const { size, setAside } = await healTail(file, asideFolderPath(path, id));
      const { durability } = store;
      const writer = transcriptWriter({ id, path, file, size, lease, durability, origin: "existing" });
      return { kind: "open", writer, setAside };
    });
  });
}

async function createTranscript(store: TranscriptStore, id: SessionId): Promise<OpenForWritingOutcome> {
  if (!isSessionName(id)) return badSessionName(id);
  const path = transcriptPath(store, id);
  return await withLease({ store, id, expects: "absent" }, async (lease) => {
    const file = await createFile(path);
    return await removeOnError({ file, path }, async () => {
      await syncNewFile(store, file);
      const { durability } = store;
      const writer = transcriptWriter({ id, path, file, size: bytes(0), lease, durability, origin: "created" });
      return { kind: "open", writer, setAside: undefined };
    });
  });
}

/** The copy gets the session's name only when it is complete: a crash on the way leaves no partial session. */
async function adoptTranscript(store: TranscriptStore, copy: AdoptedCopy): Promise<OpenForWritingOutcome> {
  const { id } = copy;
  if (!isSessionName(id)) return badSessionName(id);
  const path = transcriptPath(store, id);
  return await withLease({ store, id, expects: "absent" }, async (lease) => {
    const temporary = temporaryPath(path);
    const file = await createFile(temporary);
    return await removeOnError({ file, path: temporary }, async () => {
      const failure = await adoptCopy({ file, path, copy });
      if (failure !== undefined) return failure;
      if (store.durability !== "never") await file.datasync();
      if ((await publish(temporary, path)) === "taken") return { kind: "exists" };
      await syncPublished(store, path);
      const { size } = await file.stat();
      const { durability } = store;
      const writer = transcriptWriter({ id, path, file, size: bytes(size), lease, durability, origin: "existing" });
      return { kind: "open", writer, setAside: undefined };
    });
  });
}

async function syncPublished(store: TranscriptStore, path: string): Promise<void> {
  if (store.durability === "never") return;
  try {
    await syncFolder(store.folder);
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}

interface WithLeaseInput {
  readonly store: TranscriptStore;
  readonly id: SessionId;
  readonly expects: "present" | "absent";
}

/** Checks before it locks: an attempt to open a missing session, or to create an existing one, leaves no trace. */
async function withLease(
  options: WithLeaseInput,
  act: (lease: Lease) => Promise<OpenForWritingOutcome>,
): Promise<OpenForWritingOutcome> {
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
  const settleAndAct = async (): Promise<OpenForWritingOutcome> => {
    if (expects === "absent") await moveDetachedFiles(store.folder, id);
    return await act(outcome.lease);
  };
  const result = await settleAndAct().catch((error: unknown) => openFailure(error, options));
  if (result.kind !== "open") await outcome.lease.release();
  return result;
}

function openFailure(error: unknown, { store, id, expects }: WithLeaseInput): OpenForWritingOutcome {
  if (expects === "absent" && isTaken(error)) return { kind: "exists" };
  if (expects === "present" && (isAbsent(error) || isLink(error))) return { kind: "missing" };
  return writeFailure(error, transcriptPath(store, id));
}

async function syncNewFile(store: TranscriptStore, file: FileHandle): Promise<void> {
  if (store.durability === "never") return;
  await file.sync();
  await syncFolder(store.folder);
  await syncFolder(dirname(store.folder));
}

async function closeOnError(
  file: FileHandle,
  act: () => Promise<OpenForWritingOutcome>,
): Promise<OpenForWritingOutcome> {
  try {
    return await act();
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Removes the unfinished file if `act` fails or throws. */
async function removeOnError(
  { file, path }: { file: FileHandle; path: string },
  act: () => Promise<OpenForWritingOutcome>,
): Promise<OpenForWritingOutcome> {
  const undo = async () => {
    await file.close();
    await rm(path, { force: true });
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

const badSessionName = (id: SessionId): WriteFailure => ({
  kind: "failed",
  why: "io",
  message: `${JSON.stringify(id)} can't be a session's name: use letters, digits, - and _.`,
});

/** Writes the origin line, the source's bytes, and a newline if they lack one. Holds one chunk in memory. */
async function adoptCopy(options: {
  file: FileHandle;
  path: string;
  copy: AdoptedCopy;
}): Promise<WriteFailure | undefined> {
  const { file, path, copy } = options;
  const write = async (data: Uint8Array): Promise<WriteFailure | undefined> => {
    const written = await writeAll(file, data);
    return written.kind === "part" ? writeFailure(written.error, path) : undefined;
  };
  let failure = await write(lineBuffer(copy.originLine, "line-end"));
  let lastByte = newline;
  for (let start = 0; start < copy.length && failure === undefined; start += copyChunkBytes) {
    const end = Math.min(copy.length, start + copyChunkBytes);
    const chunk = await readChunk(copy, { start, end });
    if ("kind" in chunk) return chunk;
    lastByte = chunk.at(-1) ?? lastByte;
    failure = await write(chunk);
  }
  return failure ?? (lastByte === newline ? undefined : await write(Buffer.of(newline)));
}

const newline = 0x0a;

async function readChunk(copy: AdoptedCopy, range: { start: number; end: number }): Promise<Uint8Array | WriteFailure> {
  try {
    const chunk = await copy.source.read(range);
    if (chunk.byteLength === range.end - range.start) return chunk;
    return sourceFailure(
      `it ends at byte ${range.start + chunk.byteLength}, before the ${copy.length} that were to be copied`,
    );
  } catch (error) {
    return sourceFailure(error instanceof Error ? error.message : String(error));
  }
}

const sourceFailure = (reason: string): WriteFailure => ({
  kind: "failed",
  why: "io",
  message: `The session to copy could not be read to its end (${reason}): check the file, then try again.`,
});

interface HealedTail {
  readonly size: Bytes;
  readonly setAside: SetAside | undefined;
}

/**
 * Ends the last line with a newline if it has none. Torn bytes are first copied aside and also stay in the file, so a
 * crash at any step loses nothing, and the next call repeats it.
 */
async function healTail(file: FileHandle, asideFolder: string): Promise<HealedTail> {
  const { size } = await file.stat();
  const tail = await readTail(handleSource(file, size));
  if (tail.kind === "ended") return { size: bytes(size), setAside: undefined };
  const setAside = tail.kind === "torn" ? await copyAside({ file, range: tail, folder: asideFolder }) : undefined;
  const written = await writeAll(file, Buffer.from("\n"));
  if (written.kind === "part") throw written.error;
  await file.datasync();
  return { size: bytes(size + 1), setAside };
}

const handleSource = (file: FileHandle, size: number): ByteSource => ({
  size: bytes(size),
  read: (range) => readRange(file, range),
  close: () => Promise.resolve(),
});
