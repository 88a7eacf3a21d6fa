import type { ClockDep } from "../ports/clock-dep.ts";
import type { GarbageDep, SessionWriter, StoredBlob, TemporaryFile } from "../ports/garbage-store.ts";
import { type BlobId, type Millis, millis } from "../schema/brand.ts";
import { garbageAgeMin, referenceDigitsMin, scanChunkBytes } from "./limits.ts";
import type { ByteSource } from "../ports/transcripts.ts";

/**
 * Collects blobs that nothing names any more. What can't be proven to be garbage stays:
 *
 *   named       anything in the project that may be a blob's id, or a good part of one, is a reference, whether the line
 *               around it can be read or not; so is what a referenced blob itself names (a checkpoint and the one before it)
 *   linked      a session that exists has it in its tool-results
 *   young       put, or put again, within `garbageAgeMin` before the collection began: its edit may be on the way
 *   writers     while any session of the project is open in a living process, nothing is deleted at all
 *
 * Writers are looked for first. A session that opens later can only name blobs that it puts later, and putting a blob
 * that is there makes it young: `remove` checks that once more when the blob can't be put any more.
 */
interface GcOptions {
  readonly mode: "list" | "delete";
  /** For tests; the limit in `limits.ts` where it is absent. */
  readonly ageMin?: Millis;
}

type GcOutcome =
  | ({ readonly kind: "collected" } & GcReport)
  | { readonly kind: "busy"; readonly writers: readonly SessionWriter[] };

export interface GcReport {
  readonly mode: GcOptions["mode"];
  readonly blobs: number;
  readonly unreferenced: readonly UnreferencedBlob[];
  readonly temporaries: readonly TemporaryFile[];
  readonly writers: readonly SessionWriter[];
}

interface UnreferencedBlob extends StoredBlob {
  /** `young`: unreferenced, but not for long enough. `deletable`: what a run that is not dry would delete. */
  readonly state: "young" | "deletable" | "deleted";
}

export async function collectGarbage(deps: GarbageDep & ClockDep, options: GcOptions): Promise<GcOutcome> {
  const before = millis(deps.now() - (options.ageMin ?? garbageAgeMin));
  const writers = await deps.garbage.writers();
  if (options.mode === "delete" && writers.length > 0) return { kind: "busy", writers };
  const blobs = await deps.garbage.blobs();
  const referenced = await findReferenced(deps, blobs);
  const unreferenced: UnreferencedBlob[] = [];
  for (const blob of blobs) {
    if (referenced.has(blob.id)) continue;
    const found = await handleUnreferenced(deps, { blob, before, mode: options.mode });
    if (found !== undefined) unreferenced.push(found);
  }
  const temporaries = (await deps.garbage.temporaries()).filter(({ writtenAt }) => writtenAt < before);
  if (options.mode === "delete") for (const { path } of temporaries) await deps.garbage.removeTemporary(path);
  return { kind: "collected", mode: options.mode, blobs: blobs.length, unreferenced, temporaries, writers };
}

async function handleUnreferenced(
  { garbage }: GarbageDep,
  { blob, before, mode }: { readonly blob: StoredBlob; readonly before: Millis; readonly mode: GcOptions["mode"] },
): Promise<UnreferencedBlob | undefined> {
  if (blob.putAt >= before) return { ...blob, state: "young" };
  if (mode === "list") return { ...blob, state: "deletable" };
  switch (await garbage.remove(blob.id, before)) {
    case "removed":
      return { ...blob, state: "deleted" };
    case "kept":
      return { ...blob, state: "young" };
    case "gone":
      return undefined;
  }
}

/** Every blob that is named by a place, a link, or a blob that is itself referenced. Each byte is read once. */
async function findReferenced({ garbage }: GarbageDep, blobs: readonly StoredBlob[]): Promise<ReadonlySet<BlobId>> {
  const known = new KnownBlobs(blobs.map(({ id }) => id));
  const referenced = new Set(await garbage.linked());
  for await (const { source } of garbage.places()) {
    try {
      for (const id of await findReferences(source, known)) referenced.add(id);
    } finally {
      await source.close();
    }
  }
  const queue = [...referenced];
  for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
    const source = await garbage.openBlob(id);
    if (source === undefined) continue;
    try {
      for (const named of await findReferences(source, known)) {
        if (referenced.has(named)) continue;
        referenced.add(named);
        queue.push(named);
      }
    } finally {
      await source.close();
    }
  }
  return referenced;
}

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

  findByDigits(digits: string): readonly BlobId[] {
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
        for (const id of known.findByDigits(run.slice(from, from + referenceDigitsMin))) found.add(id);
    }
    held = text.slice(-overlap);
  }
  return found;
}

const digitRun = new RegExp(`[0-9a-f]{${referenceDigitsMin},}`, "g");
