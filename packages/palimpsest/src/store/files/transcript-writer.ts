import { type FileHandle, rm, rmdir, constants, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Bytes, type SessionId, bytes } from "../../schema/brand.ts";
import type { WriteFailure } from "../../ports/blobs.ts";
import type { Lease } from "../../ports/store.ts";
import type {
  AppendOutcome,
  BlankOutcome,
  ByteRange,
  Durability,
  TranscriptWriter,
  SetAside,
} from "../../ports/transcripts.ts";
import { lineBuffer } from "../log-tail.ts";
import {
  writeAll,
  type WriteBytes,
  openNoFollow,
  createFile,
  makeFolder,
  syncFolder,
  temporaryPath,
  writeFailure,
} from "./disk.ts";
import { copyChunkBytes } from "../limits.ts";
import { readRange } from "./file-source.ts";

interface WriterParts {
  readonly id: SessionId;
  readonly path: string;
  /** Opened for appending: the system adds every write at the end. */
  readonly file: FileHandle;
  /** How lines are written to it; as the system does by default. */
  readonly write?: WriteBytes | undefined;
  readonly size: Bytes;
  readonly lease: Lease;
  readonly durability: Durability;
  /** `created`: the file is new and empty; `discard` may remove it. */
  readonly origin: "created" | "existing";
}

/** Concurrent calls run one after another. Nothing here can shorten the file. */
export function transcriptWriter(parts: WriterParts): TranscriptWriter {
  const appender = new Appender(parts);
  let last: Promise<unknown> = Promise.resolve();
  let closing: Promise<void> | undefined;
  const enqueue = <Result>(act: () => Promise<Result>): Promise<Result> => {
    const result = last.then(act, act);
    last = result;
    return result;
  };
  const whileOpen = <Result>(act: () => Promise<Result>): Promise<Result> => {
    if (closing !== undefined) throw new TypeError(`the writer of ${parts.id} is closed`);
    return enqueue(act);
  };
  return {
    id: parts.id,
    append: async (lines, sync) => whileOpen(() => appender.append(lines, sync)),
    endTurn: async () => whileOpen(() => appender.endTurn()),
    blank: async (ranges) => whileOpen(() => appender.blank(ranges)),
    close: () => (closing ??= enqueue(() => appender.close())),
    discard: () => (closing ??= enqueue(() => appender.discard())),
  };
}

class Appender {
  readonly #parts: WriterParts;
  #end: number;
  #before: "line-end" | "torn-line" = "line-end";
  #unsynced: "nothing" | "something" = "nothing";
  /** After a failed sync the system may drop the bytes and report success for the next sync: only reopening the file shows what it holds. */
  #syncFailure: WriteFailure | undefined;

  constructor(parts: WriterParts) {
    this.#parts = parts;
    this.#end = parts.size;
  }

  async append(lines: readonly string[], sync: "now" | "later" = "now"): Promise<AppendOutcome> {
    const refusal = await this.#refusal();
    if (refusal !== undefined) return refusal;
    const at: Bytes[] = [];
    for (const line of lines) {
      const written = await this.#write(line);
      if (typeof written === "object") return written;
      at.push(written);
    }
    const failure = this.#parts.durability === "always" && sync === "now" ? await this.#sync() : undefined;
    return failure ?? { kind: "appended", at };
  }

  async endTurn(): Promise<AppendOutcome> {
    const failure = this.#syncFailure ?? (this.#parts.durability === "turn" ? await this.#sync() : undefined);
    return failure ?? { kind: "appended", at: [] };
  }

  async blank(ranges: readonly ByteRange[]): Promise<BlankOutcome> {
    const { id, path } = this.#parts;
    return (await this.#refusal()) ?? (await blankRanges({ path, asideFolder: asideFolderPath(path, id) }, ranges));
  }

  /** A failure of the last sync is not reported: a caller that needs to know calls `endTurn` first. */
  async close(): Promise<void> {
    try {
      if (this.#parts.durability !== "never") await this.#sync();
    } finally {
      await this.#parts.file.close();
      await this.#parts.lease.release();
    }
  }

  /** Removes a file that this writer created, while the lease is held, so that the next process finds none. Other files of the session stay. */
  async discard(): Promise<void> {
    const { id, path, origin } = this.#parts;
    if (origin === "created" && (await this.#refusal()) === undefined) {
      this.#unsynced = "nothing";
      await rm(path, { force: true }).catch(() => undefined);
      await rmdir(join(dirname(path), id)).catch(() => undefined);
    }
    await this.close();
  }

  async #refusal(): Promise<WriteFailure | undefined> {
    if (this.#syncFailure !== undefined) return this.#syncFailure;
    const { lease, path } = this.#parts;
    try {
      if ((await lease.state()) === "held") return undefined;
    } catch (error) {
      return writeFailure(error, path);
    }
    return {
      kind: "failed",
      why: "lock-lost",
      message: `Another process took over ${path}: open the session again or fork it.`,
    };
  }

  async #write(line: string): Promise<Bytes | WriteFailure> {
    const data = lineBuffer(line, this.#before);
    const start = this.#end + (this.#before === "torn-line" ? 1 : 0);
    const result = await writeAll(this.#parts.file, data, this.#parts.write);
    if (result.kind === "part") return this.#recordTornLine(result);
    this.#end += data.byteLength;
    this.#before = "line-end";
    this.#unsynced = "something";
    return bytes(start);
  }

  #recordTornLine({ written, error }: { written: number; error: unknown }): WriteFailure {
    this.#end += written;
    // If only the newline that ends an older torn line was written, that line is ended and nothing of this one is left.
    if (written > 0) this.#before = this.#before === "torn-line" && written === 1 ? "line-end" : "torn-line";
    return writeFailure(error, this.#parts.path);
  }

  async #sync(): Promise<WriteFailure | undefined> {
    if (this.#syncFailure !== undefined || this.#unsynced === "nothing") return this.#syncFailure;
    try {
      await this.#parts.file.datasync();
      this.#unsynced = "nothing";
    } catch (error) {
      const failure = writeFailure(error, this.#parts.path);
      this.#syncFailure = {
        ...failure,
        message: `${failure.message} Open the session again before going on: its last entries may not be on disk.`,
      };
    }
    return this.#syncFailure;
  }
}

const space = 0x20;

/** Makes all copies first: if a later step fails, every byte that was overwritten has been set aside. */
async function blankRanges(
  log: { path: string; asideFolder: string },
  ranges: readonly ByteRange[],
): Promise<BlankOutcome> {
  try {
    // Not the appending handle: its writes go to the end, whatever position they specify.
    const file = await openNoFollow(log.path, constants.O_RDWR);
    try {
      const setAside: SetAside[] = [];
      for (const range of ranges) setAside.push(await copyAside({ file, range, folder: log.asideFolder }));
      for (const { start, end } of ranges) {
        for (let at = start; at < end; at += copyChunkBytes) {
          const length = Math.min(copyChunkBytes, end - at);
          await file.write(Buffer.alloc(length, space), 0, length, at);
        }
      }
      await file.datasync();
      return { kind: "blanked", setAside };
    } finally {
      await file.close();
    }
  } catch (error) {
    return writeFailure(error, log.path);
  }
}

/** In the session's folder, which is next to the transcript. */
export const asideFolderPath = (transcript: string, session: SessionId): string =>
  join(dirname(transcript), session, "set-aside");

/** Copies damaged bytes to `<folder>/<start>-<end>.bin` and syncs the copy, so that it is on disk before they are overwritten. */
export async function copyAside(torn: { file: FileHandle; range: ByteRange; folder: string }): Promise<SetAside> {
  const { start, end } = torn.range;
  await makeFolder(torn.folder);
  const kept = join(torn.folder, `${start}-${end}.bin`);
  const temporary = temporaryPath(kept);
  try {
    await copyRange({ from: torn.file, range: { start, end }, to: temporary });
    await rename(temporary, kept);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncFolder(torn.folder);
  await syncFolder(dirname(torn.folder));
  return { start: bytes(start), end: bytes(end), kept };
}

async function copyRange(copy: { from: FileHandle; range: ByteRange; to: string }): Promise<void> {
  const target = await createFile(copy.to);
  try {
    for (let start = copy.range.start; start < copy.range.end; start += copyChunkBytes) {
      const end = Math.min(copy.range.end, start + copyChunkBytes);
      const written = await writeAll(target, await readRange(copy.from, { start, end }));
      if (written.kind === "part") throw written.error;
    }
    await target.datasync();
  } finally {
    await target.close();
  }
}
