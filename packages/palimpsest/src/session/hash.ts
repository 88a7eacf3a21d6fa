import type { ByteSource } from "../ports/transcripts.ts";
import type { BlobId } from "../schema/brand.ts";
import { scanChunkBytes } from "./limits.ts";

/** Hashing is the machine's: `loop/` stays free of it. */
export type HashDep = () => { update(chunk: Uint8Array): void; digest(): BlobId };

/** Reads the source once, a chunk at a time; only its first `length` bytes where that is given. */
export async function hashOf(sha256: HashDep, source: ByteSource, length: number = source.size): Promise<BlobId> {
  const hash = sha256();
  for (let at = 0; at < length; at += scanChunkBytes) {
    hash.update(await source.read({ start: at, end: Math.min(at + scanChunkBytes, length) }));
  }
  return hash.digest();
}
