import type { BlobId, Bytes, Millis } from "../schema/brand.ts";
import type { ByteSource } from "./transcripts.ts";

/** What collecting garbage needs to know of a project's store, and the only two ways in which it may take away. */
export interface GarbageStore {
  blobs(): Promise<readonly StoredBlob[]>;
  /** Everything of the project besides the blobs themselves that may name one: transcripts, sidechains, bytes set aside, notes. Refuses by throwing: what can't be read may name anything. */
  places(): AsyncIterable<NamedSource>;
  openBlob(id: BlobId): Promise<ByteSource | undefined>;
  /** Blobs that people and tools can reach under a call's id in a session that exists. */
  linked(): Promise<ReadonlySet<BlobId>>;
  /** Sessions that a living process holds open for writing. */
  writers(): Promise<readonly SessionWriter[]>;
  /** Removes a blob and its links, unless somebody put it since `before`: then it is as it was. */
  remove(id: BlobId, before: Millis): Promise<"removed" | "kept" | "gone">;
  /** Files that a crash left half written. */
  temporaries(): Promise<readonly TemporaryFile[]>;
  removeTemporary(path: string): Promise<void>;
}

export interface StoredBlob {
  readonly id: BlobId;
  readonly bytes: Bytes;
  /** When it was last put, also where it was there already. */
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
