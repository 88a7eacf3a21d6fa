import type { ClockDep } from "../ports/clock-dep.ts";
import type { GarbageDep, NamedSource, SessionWriter, StoredBlob, TemporaryFile } from "../ports/garbage-store.ts";
import { type BlobId, type Millis, millis, type SessionId } from "../schema/brand.ts";
import { garbageAgeMin, referenceDigitsMin, scanChunkBytes } from "./limits.ts";
import type { ByteSource } from "../ports/transcripts.ts";

interface GcOptions {
  readonly mode: "list" | "delete";
  /** By default the limit in `limits.ts`. */
  readonly ageMin?: Millis;
  /** Present: only these blobs are considered, and no temporary files. */
  readonly only?: ReadonlySet<BlobId> | undefined;
  /** A session that the caller itself has open, and so no reason to delete nothing: what it has put is young. */
  readonly during?: SessionId | undefined;
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
  /** `young`: not referenced, but too new. `deletable`: `delete` mode would delete it. */
  readonly state: "young" | "deletable" | "deleted";
}

/**
 * Collects blobs that nothing references any more. A blob is kept unless it is provably garbage:
 *
 *   referenced  any text in the project that may be a blob's id, or a long enough part of one, is a reference, even if its
 *               line can't be read; so is what a referenced blob itself names (a checkpoint names the previous one)
 *   linked      an existing session has it in its tool-results
 *   young       it was put, or put again, within `garbageAgeMin` before the collection began: its edit may still follow
 *   writers     while a living process has any session of the project open, nothing is deleted
 *
 * Writers are checked first. A session that opens later can only name blobs that it puts later, and putting an existing
 * blob makes it young: `remove` checks that again once the blob can't be put any more.
 */
export async function collectGarbage(deps: GarbageDep & ClockDep, options: GcOptions): Promise<GcOutcome> {
  const { mode, ageMin = garbageAgeMin, only } = options;
  const before = millis(deps.now() - ageMin);
  const writers = await findWriters(deps, options.during);
  if (mode === "delete" && writers.length > 0) return { kind: "busy", writers };
  const blobs = await deps.garbage.blobs();
  const referenced = await findReferenced(deps, blobs);
  // A copy of a session that was just deleted may have been begun before, and be unfinished: its writer is known by now.
  const copying = only === undefined || mode === "list" ? [] : await findWriters(deps, options.during);
  if (copying.length > 0) return { kind: "busy", writers: copying };
  const unreferenced: UnreferencedBlob[] = [];
  for (const blob of blobs) {
    if (referenced.has(blob.id) || only?.has(blob.id) === false) continue;
    const found = await handleUnreferenced(deps, { blob, before, mode });
    if (found !== undefined) unreferenced.push(found);
  }
  const allTemporaries = only === undefined ? await deps.garbage.temporaries() : [];
  const temporaries = allTemporaries.filter(({ writtenAt }) => writtenAt < before);
  if (mode === "delete") for (const { path } of temporaries) await deps.garbage.removeTemporary(path);
  return { kind: "collected", mode, blobs: blobs.length, unreferenced, temporaries, writers };
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

async function findWriters({ garbage }: GarbageDep, during: SessionId | undefined): Promise<readonly SessionWriter[]> {
  return (await garbage.writers()).filter(({ session }) => session !== during);
}

/** Every blob that is named by a file, a link, or a referenced blob. Each byte is read once. */
async function findReferenced(deps: GarbageDep, blobs: readonly StoredBlob[]): Promise<ReadonlySet<BlobId>> {
  const named = await deps.garbage.linked();
  return findNamedBlobs(deps, { blobs, places: deps.garbage.places(), named });
}

interface NamedBlobsInput {
  readonly blobs: readonly StoredBlob[];
  /** They are closed. */
  readonly places: AsyncIterable<NamedSource>;
  /** Blobs that are known to be named. */
  readonly named?: ReadonlySet<BlobId>;
}

/** The blobs that these places name, and those that the named ones name. Each byte is read once. */
export async function findNamedBlobs(
  { garbage }: GarbageDep,
  { blobs, places, named = new Set() }: NamedBlobsInput,
): Promise<ReadonlySet<BlobId>> {
  const known = new KnownBlobs(blobs.map(({ id }) => id));
  const found = new Set(named);
  for await (const { source } of places) for (const id of await closeAfterReading(source, known)) found.add(id);
  const queue = [...found];
  for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
    const source = await garbage.openBlob(id);
    if (source === undefined) continue;
    for (const next of await closeAfterReading(source, known)) {
      if (found.has(next)) continue;
      found.add(next);
      queue.push(next);
    }
  }
  return found;
}

async function closeAfterReading(source: ByteSource, known: KnownBlobs): Promise<ReadonlySet<BlobId>> {
  try {
    return await findReferences(source, known);
  } finally {
    await source.close();
  }
}

/** The existing blobs by the first and last digits of their ids: damage may have cut off either end of an id. */
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

/** Blobs whose ids, or at least whose first or last digits, occur anywhere in the bytes. Memory: a chunk. */
export async function findReferences(source: ByteSource, known: KnownBlobs): Promise<Set<BlobId>> {
  const found = new Set<BlobId>();
  const overlap = referenceDigitsMin - 1;
  let held = "";
  for (let at = 0; at < source.size;) {
    const chunk = await source.read({ start: at, end: Math.min(at + scanChunkBytes, source.size) });
    // The file got shorter during the read, and the lost part may have named any blob.
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
