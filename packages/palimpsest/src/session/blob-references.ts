import type { ByteSource } from "../ports/transcripts.ts";
import type { BlobId } from "../schema/brand.ts";
import { referenceDigitsMin, scanChunkBytes } from "./limits.ts";

/** The blobs there are, by the digits that their ids begin and end with: damage may have cut an id on either side. */
export class KnownBlobs {
  readonly #byDigits = new Map<string, BlobId[]>();

  constructor(ids: Iterable<BlobId>) {
    for (const id of ids) {
      for (const digits of [id.slice(0, referenceDigitsMin), id.slice(-referenceDigitsMin)]) {
        const same = this.#byDigits.get(digits);
        if (same === undefined) this.#byDigits.set(digits, [id]);
        else same.push(id);
      }
    }
  }

  named(digits: string): readonly BlobId[] {
    return this.#byDigits.get(digits) ?? [];
  }
}

/** Blobs whose ids, or at least whose first or last digits, stand anywhere in the bytes. Memory: a chunk. */
export async function findReferences(source: ByteSource, known: KnownBlobs): Promise<Set<BlobId>> {
  const found = new Set<BlobId>();
  const overlap = referenceDigitsMin - 1;
  let held = "";
  for (let at = 0; at < source.size;) {
    const chunk = await source.read({ start: at, end: Math.min(at + scanChunkBytes, source.size) });
    // Fewer bytes than the file had: it was cut while it was read, and what is gone may have named anything.
    if (chunk.length === 0) throw new Error("a file of the project got shorter while it was read");
    at += chunk.length;
    const text = held + Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString("latin1").toLowerCase();
    for (const { 0: run } of text.matchAll(digitRun)) {
      for (let from = 0; from + referenceDigitsMin <= run.length; from += 1)
        for (const id of known.named(run.slice(from, from + referenceDigitsMin))) found.add(id);
    }
    held = text.slice(-overlap);
  }
  return found;
}

const digitRun = new RegExp(`[0-9a-f]{${referenceDigitsMin},}`, "g");
