import { type SessionId, bytes, type Bytes } from "../../schema/brand.ts";
import type { ClockDep } from "../../ports/clock-dep.ts";
import type { GarbageStore, NamedSource, SessionWriter } from "../../ports/garbage-store.ts";
import type { DetachOutcome, SessionDeletionDep } from "../../ports/session-deletion.ts";
import type { Lease, Leases, MessageCountMode, SessionList, SessionSummary } from "../../ports/store.ts";
import type {
  ByteRange,
  AdoptedCopy,
  ByteSource,
  OpenForWritingOutcome,
  SetAside,
  Transcripts,
  AppendOutcome,
  BlankOutcome,
  TranscriptWriter,
} from "../../ports/transcripts.ts";
import { lineBuffer, readTail } from "../log-tail.ts";
import { copyChunkBytes } from "../limits.ts";
import { isSessionName } from "../is-session-name.ts";
import { byNewest, summariseSession } from "../summarise-session.ts";
import { type FaultAt, faultFailure, type Fault, memoryByteSource } from "./memory-blobs.ts";

interface MemoryTranscriptsOptions {
  readonly deps: ClockDep;
  /** Leases to share with other callers; by default the transcripts have their own. */
  readonly leases?: Leases;
  /** Transcripts that exist from the start; they may be damaged. */
  readonly seed?: ReadonlyMap<SessionId, Uint8Array>;
  /** Called once for each appended line. */
  readonly faultAt?: FaultAt;
}

interface MemorySession {
  readonly id: SessionId;
  readonly log: GrowingBytes;
  readonly createdMs: number;
  modifiedMs: number;
  readonly setAside: Map<string, Uint8Array>;
}

interface MemoryDeletion extends SessionDeletionDep, Pick<GarbageStore, "writers"> {
  /** Of every stored session. */
  readonly allPlaces: GarbageStore["places"];
}

/** Follows the same rules as the file store; for tests and temporary sessions. */
export function memoryTranscripts(options: MemoryTranscriptsOptions): Transcripts & SessionList & MemoryDeletion {
  const store = new MemoryStore(options);
  return {
    deletion: {
      detach: (id) => store.detach(id),
      detached: async () => store.detached(),
      places: (id) => store.places(id),
      purge: async (ids) => store.purge(ids),
    },
    allPlaces: () => store.allPlaces(),
    writers: () => store.writers(),
    create: (id) => store.create(id),
    openForWriting: (id) => store.openForWriting(id),
    openForReading: async (id) => store.openForReading(id),
    adopt: (copy) => store.adopt(copy),
    list: (counting = "near") => store.list(counting),
  };
}

class MemoryStore {
  readonly #options: MemoryTranscriptsOptions;
  readonly #leases: Leases;
  readonly #sessionById = new Map<SessionId, MemorySession>();
  readonly #detachedById = new Map<SessionId, MemorySession>();
  #writes = 0;

  constructor(options: MemoryTranscriptsOptions) {
    this.#options = options;
    this.#leases = options.leases ?? memoryLeases(options.deps);
    for (const [id, data] of options.seed ?? []) this.#add(id).log.append(data);
  }

  create(id: SessionId): Promise<OpenForWritingOutcome> {
    return this.#begin(id, (lease) =>
      this.#openWriter(this.#add(id), { lease, remove: () => this.#sessionById.delete(id) }),
    );
  }

  async openForWriting(id: SessionId): Promise<OpenForWritingOutcome> {
    const session = this.#sessionById.get(id);
    if (session === undefined) return { kind: "missing" };
    const outcome = await this.#leases.acquire(id);
    if (outcome.kind !== "acquired") return outcome;
    const opened = this.#openWriter(session, outcome);
    const setAside = await healTail(session);
    return { ...opened, setAside };
  }

  openForReading(id: SessionId): ByteSource | undefined {
    const session = this.#sessionById.get(id);
    return session === undefined ? undefined : logSource(session.log);
  }

  async adopt(copy: AdoptedCopy): Promise<OpenForWritingOutcome> {
    const refusal = this.#refusalToCreate(copy.id);
    if (refusal !== undefined) return refusal;
    const log = new GrowingBytes();
    log.append(lineBuffer(copy.originLine, "line-end"));
    for (let start = 0; start < copy.length; start += copyChunkBytes) {
      const end = Math.min(copy.length, start + copyChunkBytes);
      const chunk = await copy.source.read({ start, end });
      if (chunk.byteLength < end - start) return faultFailure({ why: "io" });
      log.append(chunk);
    }
    if (log.slice({ start: log.size - 1, end: log.size })[0] !== newline) log.append(Uint8Array.of(newline));
    return this.#begin(copy.id, (lease) => this.#openWriter(this.#add(copy.id, log), { lease }));
  }

  async list(counting: MessageCountMode): Promise<readonly SessionSummary[]> {
    const rows = [...this.#sessionById.values()].map((session) =>
      summariseSession({
        source: logSource(session.log),
        sessionId: session.id,
        mtimeMs: session.modifiedMs,
        birthtimeMs: session.createdMs,
        earlier: undefined,
        counting,
      }),
    );
    return (await Promise.all(rows)).toSorted(byNewest);
  }

  async detach(id: SessionId): Promise<DetachOutcome> {
    if (!this.#sessionById.has(id)) return { kind: this.#detachedById.has(id) ? "detached" : "missing" };
    const outcome = await this.#leases.acquire(id);
    if (outcome.kind !== "acquired") return outcome;
    const session = this.#sessionById.get(id);
    if (session !== undefined) this.#detachedById.set(id, session);
    this.#sessionById.delete(id);
    await outcome.lease.release();
    return { kind: "detached" };
  }

  detached(): readonly SessionId[] {
    return [...this.#detachedById.keys()].toSorted();
  }

  async *places(id: SessionId): AsyncGenerator<NamedSource> {
    for (const session of [this.#sessionById.get(id), this.#detachedById.get(id)])
      if (session !== undefined) yield* sessionPlaces(session);
  }

  async *allPlaces(): AsyncGenerator<NamedSource> {
    for (const session of this.#sessionById.values()) yield* sessionPlaces(session);
  }

  purge(ids: readonly SessionId[]): undefined {
    for (const id of ids) this.#detachedById.delete(id);
  }

  async writers(): Promise<readonly SessionWriter[]> {
    const writers: SessionWriter[] = [];
    for (const session of this.#sessionById.keys()) {
      const state = await this.#leases.look(session);
      if (state.kind === "held") writers.push({ session, holder: state.holder });
    }
    return writers;
  }

  /** Checks again under the lease: another caller may have created the session in the meantime. */
  async #begin(id: SessionId, open: (lease: Lease) => OpenForWritingOutcome): Promise<OpenForWritingOutcome> {
    const refusal = this.#refusalToCreate(id);
    if (refusal !== undefined) return refusal;
    const outcome = await this.#leases.acquire(id);
    if (outcome.kind !== "acquired") return outcome;
    const taken = this.#refusalToCreate(id);
    if (taken === undefined) return open(outcome.lease);
    await outcome.lease.release();
    return taken;
  }

  #refusalToCreate(id: SessionId): OpenForWritingOutcome | undefined {
    if (!isSessionName(id)) return faultFailure({ why: "io" });
    return this.#sessionById.has(id) ? { kind: "exists" } : undefined;
  }

  #add(id: SessionId, log: GrowingBytes = new GrowingBytes()): MemorySession {
    const now = this.#options.deps.now();
    const session: MemorySession = { id, log, createdMs: now, modifiedMs: now, setAside: new Map() };
    this.#sessionById.set(id, session);
    return session;
  }

  #openWriter(session: MemorySession, { lease, remove }: HeldLease): OpenForWritingOutcome & { kind: "open" } {
    const writer = memoryWriter({
      id: session.id,
      log: session.log,
      nextFault: () => this.#options.faultAt?.(this.#writes++),
      onWrite: () => {
        session.modifiedMs = this.#options.deps.now();
      },
      keep: (range, data) => {
        const name = asideName(session.id, range);
        session.setAside.set(name, data);
        return name;
      },
      release: () => lease.release(),
      remove,
    });
    return { kind: "open", writer, setAside: undefined };
  }
}

function* sessionPlaces({ id, log, setAside }: MemorySession): Generator<NamedSource> {
  yield { name: id, source: logSource(log) };
  for (const [name, data] of setAside) yield { name, source: memoryByteSource(data) };
}

interface HeldLease {
  readonly lease: Lease;
  /** Absent if the session existed before. */
  readonly remove?: () => void;
}

const newline = 0x0a;

const logSource = (log: GrowingBytes): ByteSource => {
  const size = bytes(log.size);
  return {
    size,
    read: async ({ start, end }) => log.slice({ start, end: Math.min(size, end) }),
    close: async () => undefined,
  };
};

const asideName = (id: SessionId, { start, end }: ByteRange): string => `memory:${id}/set-aside/${start}-${end}.bin`;

/** Torn bytes stay in the log; there is no second place to keep them. */
async function healTail(session: MemorySession): Promise<SetAside | undefined> {
  const tail = await readTail(logSource(session.log));
  if (tail.kind === "ended") return undefined;
  session.log.append(Uint8Array.of(newline));
  if (tail.kind === "whole") return undefined;
  const { start, end } = tail;
  return { start: bytes(start), end: bytes(end), kept: asideName(session.id, tail) };
}

interface MemoryWriterParts {
  readonly id: SessionId;
  readonly log: GrowingBytes;
  readonly nextFault: () => Fault | undefined;
  readonly onWrite: () => void;
  /** Keeps bytes that are about to be overwritten; returns the name under which they are kept. */
  readonly keep: (range: ByteRange, data: Uint8Array) => string;
  readonly release: () => Promise<void>;
  /** Absent if the session existed before. */
  readonly remove?: (() => void) | undefined;
}

function memoryWriter(parts: MemoryWriterParts): TranscriptWriter {
  const { id, log } = parts;
  let before: "line-end" | "torn-line" = "line-end";
  let state: "open" | "closed" = "open";

  const write = (line: string): Bytes | Fault => {
    const data = lineBuffer(line, before);
    const start = log.size + (before === "torn-line" ? 1 : 0);
    const fault = parts.nextFault();
    if (fault === undefined) {
      log.append(data);
      before = "line-end";
      return bytes(start);
    }
    const kept = Math.min(fault.keptBytes ?? 0, data.byteLength - 1);
    log.append(data.subarray(0, kept));
    if (kept > 0) before = before === "torn-line" && kept === 1 ? "line-end" : "torn-line";
    return fault;
  };

  const append = (lines: readonly string[]): AppendOutcome => {
    const at: Bytes[] = [];
    for (const line of lines) {
      const result = write(line);
      if (typeof result === "object") return faultFailure(result);
      at.push(result);
    }
    parts.onWrite();
    return { kind: "appended", at };
  };

  const blank = (ranges: readonly ByteRange[]): BlankOutcome => {
    const fault = parts.nextFault();
    if (fault !== undefined) return faultFailure(fault);
    const setAside = ranges.map(({ start, end }) => ({
      start: bytes(start),
      end: bytes(end),
      kept: parts.keep({ start, end }, log.slice({ start, end })),
    }));
    for (const range of ranges) log.fill(0x20, range);
    return { kind: "blanked", setAside };
  };

  const whileOpen = <Result>(act: () => Result): Result => {
    if (state === "closed") throw new TypeError(`the writer of ${id} is closed`);
    return act();
  };

  const close = async (): Promise<void> => {
    const stateBefore = state;
    state = "closed";
    if (stateBefore === "open") await parts.release();
  };

  return {
    id,
    append: async (lines) => whileOpen(() => append(lines)),
    endTurn: async () => whileOpen(() => ({ kind: "appended", at: [] })),
    blank: async (ranges) => whileOpen(() => blank(ranges)),
    close,
    discard: async () => {
      if (state === "open") parts.remove?.();
      await close();
    },
  };
}

/** A byte buffer that only grows; appending takes amortised constant time per byte. `slice` returns copies, which never change. */
class GrowingBytes {
  #buffer: Uint8Array = new Uint8Array(1024);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  append(data: Uint8Array): void {
    const needed = this.#size + data.byteLength;
    if (needed > this.#buffer.byteLength) {
      const larger = new Uint8Array(Math.max(needed, 2 * this.#buffer.byteLength));
      larger.set(this.#buffer.subarray(0, this.#size));
      this.#buffer = larger;
    }
    this.#buffer.set(data, this.#size);
    this.#size = needed;
  }

  fill(value: number, range: { readonly start: number; readonly end: number }): void {
    this.#buffer.fill(value, range.start, Math.min(this.#size, range.end));
  }

  slice(range: { readonly start: number; readonly end: number }): Uint8Array {
    return this.#buffer.slice(Math.max(0, range.start), Math.max(0, Math.min(this.#size, range.end)));
  }
}

/** Leases between the callers that share this object. A lease in memory is never lost or left behind by a dead process. */
export function memoryLeases({ now }: ClockDep): Leases {
  const heldByName = new Map<string, { readonly holder: string; readonly lease: Lease }>();
  return {
    acquire: async (name) => {
      const held = heldByName.get(name);
      if (held !== undefined) return { kind: "busy", holder: held.holder };
      const isHeld = (): boolean => heldByName.get(name)?.lease === lease;
      const lease: Lease = {
        state: async () => (isHeld() ? "held" : "lost"),
        release: async () => {
          if (isHeld()) heldByName.delete(name);
        },
      };
      const holder = `process ${process.pid} on this machine since ${new Date(now()).toISOString()}`;
      heldByName.set(name, { holder, lease });
      return { kind: "acquired", lease };
    },
    look: async (name) => {
      const held = heldByName.get(name);
      return held === undefined ? { kind: "free" } : { kind: "held", holder: held.holder };
    },
  };
}
