import type { BlobsDep } from "../ports/blobs.ts";
import type { OpenRecallOptions } from "../ports/recall-index.ts";
import type { SearchOutcome, SessionSearchOutcome } from "../ports/session-search.ts";
import type { StorePorts } from "../ports/store.ts";
import type { ByteSource } from "../ports/transcripts.ts";
import type { SessionId } from "../schema/brand.ts";
import { sessionCatchUpMs } from "./limits.ts";
import { LogIndex, type SessionSearchOptions, withoutSession } from "./log-index.ts";
import { openStoreRecall } from "./open-recall.ts";
import { logSource } from "./recall-sources.ts";

export interface SearchSessionOptions extends SessionSearchOptions {
  readonly source: ByteSource;
}

/** Full-text search over everything that one log and its blobs ever held, for one query. The source stays open. */
export async function searchSession(
  { blobs }: BlobsDep,
  { source, ...options }: SearchSessionOptions,
): Promise<SessionSearchOutcome> {
  const lent: ByteSource = { size: source.size, read: (range) => source.read(range), close: async () => {} };
  const index = new LogIndex(logSource({ blobs, open: async () => lent }));
  try {
    return (await index.search(options)) ?? { kind: "unavailable", why: "the log can't be read" };
  } finally {
    await index.close();
  }
}

interface SessionSearchParts {
  readonly session: SessionId;
  /** For what the store's index does not have yet. */
  readonly maskText?: OpenRecallOptions["maskText"] | undefined;
}

/**
 * The same over a session that is being written, for any number of queries: in the store's index if there is one already,
 * else in an index in memory of this session alone, which is kept. Nothing is read before the first search; each reads what
 * was appended since.
 *
 *   no index of the store ──▶ in memory ──▶ in memory
 *   an index of the store ──caught up──▶ there
 *                         └─another process indexes for too long, or the disk refuses──▶ in memory
 */
export class SessionSearch {
  readonly #ports: SessionSearchPorts;
  readonly #parts: SessionSearchParts;
  #index: LogIndex | undefined;

  constructor(ports: SessionSearchPorts, parts: SessionSearchParts) {
    this.#ports = ports;
    this.#parts = parts;
  }

  /** Undefined if the transcript can't be read. */
  async search(options: SessionSearchOptions): Promise<SessionSearchOutcome | undefined> {
    const isStored = this.#index === undefined && (await this.#ports.recall?.exists()) === true;
    const stored = isStored ? await this.#searchStored(options) : undefined;
    if (stored !== undefined) return stored;
    const { transcripts, blobs } = this.#ports;
    this.#index ??= new LogIndex(logSource({ blobs, open: () => transcripts.openForReading(this.#parts.session) }));
    return await this.#index.search(options);
  }

  /** Frees the memory; a later search begins anew. */
  async close(): Promise<void> {
    const index = this.#index;
    this.#index = undefined;
    await index?.close();
  }

  async #searchStored(options: SessionSearchOptions): Promise<SearchOutcome | undefined> {
    const { session, maskText } = this.#parts;
    const opened = await openStoreRecall(this.#ports, { maskText });
    if (opened.kind !== "open") return undefined;
    const { index } = opened;
    try {
      const caughtUp = await index.catchUp({ session, signal: AbortSignal.timeout(sessionCatchUpMs) });
      if (caughtUp.kind !== "caught-up") return undefined;
      return withoutSession(await index.search({ ...options, session, source: "session" }));
    } finally {
      await index.close();
    }
  }
}

type SessionSearchPorts = Pick<StorePorts, "transcripts" | "blobs" | "sessions" | "recall">;
