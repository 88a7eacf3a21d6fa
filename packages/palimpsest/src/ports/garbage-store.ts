import type { BlobId, Bytes, Millis } from "../schema/brand.ts";
import type { ByteSource } from "./transcripts.ts";

/** What garbage collection needs to know about a project's store, and the only two ways in which it may delete. */
export interface GarbageStore {
  blobs(): Promise<readonly StoredBlob[]>;
  /**
   * Everything in the project, except the blobs themselves, that may name a blob: transcripts, sidechains, bytes set
   * aside, notes. Throws if one can't be read, because an unreadable file may name any blob.
   */
  places(): AsyncIterable<NamedSource>;
  openBlob(id: BlobId): Promise<ByteSource | undefined>;
  /** Blobs that users and tools can reach under a call's id in a session that exists. */
  linked(): Promise<ReadonlySet<BlobId>>;
  /** Sessions that a live process holds open for writing. */
  writers(): Promise<readonly SessionWriter[]>;
  /** Removes a blob and its links, unless it was put again since `before`: then it is kept. */
  remove(id: BlobId, before: Millis): Promise<"removed" | "kept" | "gone">;
  /** Files that a crash left half written. */
  temporaries(): Promise<readonly TemporaryFile[]>;
  removeTemporary(path: string): Promise<void>;
}

export interface StoredBlob {
  readonly id: BlobId;
  readonly bytes: Bytes;
  /** When it was last put, even if it was already stored then. */
  readonly putAt: Millis;
}

export interface NamedSource {
  readonly name: string;
  readonly source: ByteSource;
}

export interface SessionWriter {
  readonly session: string;
  readonly holder: string;
}

export interface TemporaryFile {
  readonly path: string;
  readonly bytes: Bytes;
  readonly writtenAt: Millis;
}

export interface GarbageDep {
  readonly garbage: GarbageStore;
}
