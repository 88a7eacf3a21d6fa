import type { AdoptedCopy, ByteSource, OpenForWritingOutcome } from "../ports/transcripts.ts";
import type { BlobId, Millis, SessionId } from "../schema/brand.ts";
import { findOrigin, hashSource, type HashDep, type SourceMark } from "./session-origin.ts";
import { adoptAttemptsMax, adoptWaitMs } from "./limits.ts";
import type { SessionDeps } from "./session.ts";

export interface AdoptOnceDeps extends SessionDeps {
  readonly sha256: HashDep;
  /** The id of the session that this project makes from a file with this hash: whichever process asks, the same. */
  readonly sessionOf: (source: BlobId) => SessionId;
  readonly wait: (time: Millis) => Promise<unknown>;
}

export interface ForeignLog {
  readonly path: string;
  readonly format: string;
  readonly source: ByteSource;
  /** Length and hash of the file itself, where `source` is a translation of it. */
  readonly translatedFrom?: SourceMark;
}

export type AdoptOutcome =
  | Exclude<OpenForWritingOutcome, { kind: "exists" }>
  /** A session was made from this very file already. */
  | { readonly kind: "adopted"; readonly id: SessionId }
  /** The session that this file becomes is there, and its first line does not say that it was made from it. */
  | { readonly kind: "damaged"; readonly id: SessionId };

/**
 * The first write to another tool's session: a session of our own that begins with a copy of its bytes. One of a file,
 * however many processes make it at once: all of them ask the store for the same id, and the store gives it to one.
 *
 *   absent ──locked──▶ being copied ──published──▶ there: `adopted` for everyone else
 *   being copied ──the copy fails or its process dies──▶ absent, and goes to the next who asks
 *   there ──its folder can't be synced──▶ absent: who was told `adopted` in between finds no session and asks again
 *   there ──its first line is damaged──▶ `damaged` for everyone, until a person has looked
 *
 * Who comes while it is being copied waits to see what it will be, up to a limit; behind it: `busy`.
 */
export async function adoptOnce(deps: AdoptOnceDeps, foreign: ForeignLog): Promise<AdoptOutcome> {
  const copy = await prepareCopy(deps, foreign);
  const sha256 = foreign.translatedFrom?.sha256 ?? copy.sha256;
  const id = deps.sessionOf(sha256);
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await deps.transcripts.adopt({ ...copy, id });
    const known = outcome.kind === "exists" ? await checkExisting(deps, { id, sha256 }) : outcome;
    const isOver = known.kind !== "busy" && known.kind !== "missing";
    if (isOver || attempt >= adoptAttemptsMax) return known;
    await deps.wait(adoptWaitMs);
  }
}

async function checkExisting(
  deps: AdoptOnceDeps,
  { id, sha256 }: { readonly id: SessionId; readonly sha256: BlobId },
): Promise<AdoptOutcome> {
  const made = await findOrigin(deps, id);
  if (made.kind === "missing") return made;
  return { kind: made.kind === "source" && made.sha256 === sha256 ? "adopted" : "damaged", id };
}

/**
 * Reads the source once, for its hash. The origin line in front says where the bytes came from, how many they are and
 * what they hash to, so that later growth of the source can be told from a change.
 */
async function prepareCopy(
  deps: AdoptOnceDeps,
  foreign: ForeignLog,
): Promise<Omit<AdoptedCopy, "id"> & { readonly sha256: BlobId }> {
  const { source } = foreign;
  const sha256 = await hashSource(deps.sha256, source);
  const origin = {
    type: "origin",
    uuid: deps.uuid(),
    parentUuid: null,
    timestamp: new Date(deps.now()).toISOString(),
    format: foreign.format,
    path: foreign.path,
    length: source.size,
    sha256,
    ...(foreign.translatedFrom === undefined ? {} : { translatedFrom: foreign.translatedFrom }),
  };
  return { originLine: JSON.stringify(origin), source, length: source.size, sha256 };
}
