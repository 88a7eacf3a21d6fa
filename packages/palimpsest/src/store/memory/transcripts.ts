import { type SessionId, bytes } from "../../schema/brand.ts";
import type { ClockDep } from "../../ports/clock.ts";
import type { Lease, Leases } from "../../ports/leases.ts";
import type { ListCounting, SessionList, SessionSummary } from "../../ports/session-list.ts";
import type {
  ByteRange,
  AdoptedCopy,
  ByteSource,
  OpenForWriting,
  SetAside,
  Transcripts,
} from "../../ports/transcripts.ts";
import { lineBuffer } from "../line-buffer.ts";
import { copyChunkBytes } from "../limits.ts";
import { isSessionName } from "../session-name.ts";
import { byNewest, summarise } from "../summarise.ts";
import { tailOf } from "../torn-tail.ts";
import { type FaultAt, failureOf } from "./faults.ts";
import { GrowingBytes } from "./growing-bytes.ts";
import { memoryLeases } from "./leases.ts";
import { memoryWriter } from "./writer.ts";

export interface MemoryTranscriptsOptions {
  readonly deps: ClockDep;
  /** Shared with whoever looks at them; its own where it is absent. */
  readonly leases?: Leases;
  /** Transcripts that are there from the start, also damaged ones. */
  readonly seed?: ReadonlyMap<SessionId, Uint8Array>;
  /** Asked once for each line that is appended. */
  readonly faultAt?: FaultAt;
}

interface Session {
  readonly id: SessionId;
  readonly log: GrowingBytes;
  readonly createdMs: number;
  modifiedMs: number;
  readonly setAside: Map<string, Uint8Array>;
}

/** The same rules as the file store, for tests and for sessions that nobody wants kept. */
export function memoryTranscripts(options: MemoryTranscriptsOptions): Transcripts & SessionList {
  const store = new MemoryStore(options);
  return {
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
  readonly #sessionById = new Map<SessionId, Session>();
  #writes = 0;

  constructor(options: MemoryTranscriptsOptions) {
    this.#options = options;
    this.#leases = options.leases ?? memoryLeases(options.deps);
    for (const [id, data] of options.seed ?? []) this.#add(id).log.append(data);
  }

  create(id: SessionId): Promise<OpenForWriting> {
    return this.#begun(id, (lease) =>
      this.#opened(this.#add(id), { lease, remove: () => this.#sessionById.delete(id) }),
    );
  }

  async openForWriting(id: SessionId): Promise<OpenForWriting> {
    const session = this.#sessionById.get(id);
    if (session === undefined) return { kind: "missing" };
    const outcome = await this.#leases.acquire(id);
    if (outcome.kind !== "acquired") return outcome;
    const opened = this.#opened(session, outcome);
    const setAside = await healTail(session);
    return { ...opened, setAside };
  }

  openForReading(id: SessionId): ByteSource | undefined {
    const session = this.#sessionById.get(id);
    return session === undefined ? undefined : sourceOf(session.log);
  }

  async adopt(copy: AdoptedCopy): Promise<OpenForWriting> {
    const refusal = this.#refusalToCreate(copy.id);
    if (refusal !== undefined) return refusal;
    const log = new GrowingBytes();
    log.append(lineBuffer(copy.originLine, "line-end"));
    for (let start = 0; start < copy.length; start += copyChunkBytes) {
      const end = Math.min(copy.length, start + copyChunkBytes);
      const chunk = await copy.source.read({ start, end });
      if (chunk.byteLength < end - start) return failureOf({ why: "io" });
      log.append(chunk);
    }
    if (log.slice({ start: log.size - 1, end: log.size })[0] !== newline) log.append(Uint8Array.of(newline));
    return this.#begun(copy.id, (lease) => this.#opened(this.#add(copy.id, log), { lease }));
  }

  async list(counting: ListCounting): Promise<readonly SessionSummary[]> {
    const rows = [...this.#sessionById.values()].map((session) =>
      summarise({
        source: sourceOf(session.log),
        sessionId: session.id,
        mtimeMs: session.modifiedMs,
        birthtimeMs: session.createdMs,
        earlier: undefined,
        counting,
      }),
    );
    return (await Promise.all(rows)).toSorted(byNewest);
  }

  /** Looked at again under the lease: another may have made it meanwhile. */
  async #begun(id: SessionId, open: (lease: Lease) => OpenForWriting): Promise<OpenForWriting> {
    const refusal = this.#refusalToCreate(id);
    if (refusal !== undefined) return refusal;
    const outcome = await this.#leases.acquire(id);
    if (outcome.kind !== "acquired") return outcome;
    const taken = this.#refusalToCreate(id);
    if (taken === undefined) return open(outcome.lease);
    await outcome.lease.release();
    return taken;
  }

  #refusalToCreate(id: SessionId): OpenForWriting | undefined {
    if (!isSessionName(id)) return failureOf({ why: "io" });
    return this.#sessionById.has(id) ? { kind: "exists" } : undefined;
  }

  #add(id: SessionId, log: GrowingBytes = new GrowingBytes()): Session {
    const now = this.#options.deps.now();
    const session: Session = { id, log, createdMs: now, modifiedMs: now, setAside: new Map() };
    this.#sessionById.set(id, session);
    return session;
  }

  #opened(session: Session, { lease, remove }: Held): OpenForWriting & { kind: "open" } {
    const writer = memoryWriter({
      id: session.id,
      log: session.log,
      nextFault: () => this.#options.faultAt?.(this.#writes++),
      written: () => {
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

interface Held {
  readonly lease: Lease;
  /** Absent where the session was there before. */
  readonly remove?: () => void;
}

const newline = 0x0a;

const sourceOf = (log: GrowingBytes): ByteSource => {
  const size = bytes(log.size);
  return {
    size,
    read: async ({ start, end }) => log.slice({ start, end: Math.min(size, end) }),
    close: async () => undefined,
  };
};

const asideName = (id: SessionId, { start, end }: ByteRange): string => `memory:${id}/set-aside/${start}-${end}.bin`;

/** Torn bytes stay where they are; there is no second place to keep them at. */
async function healTail(session: Session): Promise<SetAside | undefined> {
  const tail = await tailOf(sourceOf(session.log));
  if (tail.kind === "ended") return undefined;
  session.log.append(Uint8Array.of(newline));
  if (tail.kind === "whole") return undefined;
  const { start, end } = tail;
  return { start: bytes(start), end: bytes(end), kept: asideName(session.id, tail) };
}
