import type { AdoptedCopy, ByteSource, OpenForWritingOutcome } from "../ports/transcripts.ts";
import type { BlobId, Millis, SessionId, Bytes } from "../schema/brand.ts";
import { findOrigin, hashSource, type HashDep, type SourceMark } from "./session-origin.ts";
import { adoptAttemptsMax, adoptWaitMs } from "./limits.ts";
import type { SessionDeps } from "./session.ts";
import { detectFormat, translateLog } from "../import/detect-format.ts";
import type { ImportDeps, ImportNote, LogFormat } from "../import/importer.ts";
import { headBytes, translatedBytesMax } from "../import/limits.ts";
import type { JsonObject } from "../schema/json.ts";
import { memoryByteSource } from "../store/memory/memory-blobs.ts";

export interface AdoptOnceDeps extends SessionDeps {
  readonly sha256: HashDep;
  /** The id of the session that this project makes from a file with this hash. It is the same in every process. */
  readonly sessionOf: (source: BlobId) => SessionId;
  readonly wait: (time: Millis) => Promise<unknown>;
}

export interface ForeignLog {
  readonly path: string;
  readonly format: string;
  readonly source: ByteSource;
  /** Length and hash of the file itself, if `source` is a translation of it. */
  readonly translatedFrom?: SourceMark;
}

export type AdoptOutcome =
  | Exclude<OpenForWritingOutcome, { kind: "exists" }>
  /** A session was already origin from this file. */
  | { readonly kind: "adopted"; readonly id: SessionId }
  /** The session that this file becomes exists, but its first line does not say that it was origin from the file. */
  | { readonly kind: "damaged"; readonly id: SessionId };

/**
 * The first write to another tool's session: makes a session of our own that begins with a copy of its bytes. Each file
 * becomes one session, however many processes adopt it at once: all of them ask the store for the same id, and the store
 * gives it to one of them.
 *
 *   absent ──locked──▶ copying ──published──▶ present: every other caller gets `adopted`
 *   copying ──the copy fails or its process dies──▶ absent: the next caller may copy
 *   present ──its folder can't be synced──▶ absent: a caller that got `adopted` meanwhile finds no session and tries again
 *   present ──its first line is damaged──▶ every caller gets `damaged`, until a user has repaired it
 *
 * A caller that comes during the copy waits for its end, up to a limit; after that it gets `busy`.
 */
export async function adoptOnce(deps: AdoptOnceDeps, foreign: ForeignLog): Promise<AdoptOutcome> {
  const copy = await prepareCopy(deps, foreign);
  const sha256 = foreign.translatedFrom?.sha256 ?? copy.sha256;
  const id = deps.sessionOf(sha256);
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await deps.transcripts.adopt({ ...copy, id });
    const checked = outcome.kind === "exists" ? await checkExisting(deps, { id, sha256 }) : outcome;
    const isFinal = checked.kind !== "busy" && checked.kind !== "missing";
    if (isFinal || attempt >= adoptAttemptsMax) return checked;
    await deps.wait(adoptWaitMs);
  }
}

async function checkExisting(
  deps: AdoptOnceDeps,
  { id, sha256 }: { readonly id: SessionId; readonly sha256: BlobId },
): Promise<AdoptOutcome> {
  const origin = await findOrigin(deps, id);
  if (origin.kind === "missing") return origin;
  return { kind: origin.kind === "source" && origin.sha256 === sha256 ? "adopted" : "damaged", id };
}

/**
 * Reads the source once, for its hash. The origin line in front records where the bytes came from, their length and their
 * hash, so that later growth of the source can be told from a change.
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

/** Another tool's file, readable as a log whatever its format. */
type OpenForeignOutcome =
  | {
      readonly kind: "open";
      /** The file itself if it is in Claude Code's format or in an unknown one, else its translation. */
      readonly source: ByteSource;
      readonly format: LogFormat | undefined;
      readonly translated?: ForeignTranslation;
    }
  | { readonly kind: "too-large"; readonly format: LogFormat; readonly size: Bytes; readonly max: Bytes };

export interface ForeignTranslation {
  readonly notes: readonly ImportNote[];
  readonly from: SourceMark;
}

/**
 * Reads only the head, unless the file needs a translation. Takes over the source: if the file is translated or refused,
 * the source is closed.
 */
export async function openForeign(deps: { readonly sha256: HashDep }, source: ByteSource): Promise<OpenForeignOutcome> {
  const head = await source.read({ start: 0, end: Math.min(source.size, headBytes) });
  const format = detectFormat(new TextDecoder().decode(head));
  if (format === undefined || format === "claude-code") return { kind: "open", source, format };
  try {
    if (source.size > translatedBytesMax)
      return { kind: "too-large", format, size: source.size, max: translatedBytesMax };
    return await translateSource(deps, { source, format });
  } finally {
    await source.close();
  }
}

async function translateSource(
  deps: { readonly sha256: HashDep },
  { source, format }: { readonly source: ByteSource; readonly format: LogFormat },
): Promise<OpenForeignOutcome> {
  const data = await source.read({ start: 0, end: source.size });
  const hash = deps.sha256();
  hash.update(data);
  const from = { length: source.size, sha256: hash.digest() };
  const outcome = translateLog({ text: new TextDecoder().decode(data), format, deps: textHash(deps.sha256) });
  if (outcome.kind !== "translated") throw new Error(`no importer for ${format}`);
  const { entries, notes } = outcome;
  return { kind: "open", source: memoryByteSource(encodeLines(entries)), format, translated: { notes, from } };
}

const textHash = (sha256: HashDep): ImportDeps => ({
  sha256: (text) => {
    const hash = sha256();
    hash.update(encoder.encode(text));
    return hash.digest();
  },
});

const encoder = new TextEncoder();

function encodeLines(entries: readonly JsonObject[]): Uint8Array {
  const encoded = entries.map((entry) => encoder.encode(`${JSON.stringify(entry)}\n`));
  const all = new Uint8Array(encoded.reduce((sum, line) => sum + line.byteLength, 0));
  let at = 0;
  for (const line of encoded) {
    all.set(line, at);
    at += line.byteLength;
  }
  return all;
}
