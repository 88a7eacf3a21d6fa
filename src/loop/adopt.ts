import type { AdoptedCopy, ByteSource, OpenForWriting } from "../ports/transcripts.ts";
import { type BlobId, type Bytes, sessionId } from "../schema/brand.ts";
import { hashOf, type HashDep } from "./hash.ts";
import type { SessionDeps } from "./session.ts";

export interface ForeignLog {
  readonly path: string;
  readonly format: string;
  readonly source: ByteSource;
  /** Length and hash of the file itself, where `source` is a translation of it. */
  readonly translatedFrom?: SourceMark;
}

/** By which a source is known again. */
export interface SourceMark {
  readonly length: Bytes;
  readonly sha256: BlobId;
}

/**
 * The first write to another tool's session: a session of our own that begins with a copy of its bytes. The origin
 * line in front says where they came from, how many they are and what they hash to, so that later growth of the source
 * can be told from a change.
 */
export async function adopt(deps: CopyDeps, foreign: ForeignLog): Promise<OpenForWriting> {
  return deps.transcripts.adopt({ ...(await copyOf(deps, foreign)), id: sessionId(deps.uuid()) });
}

type CopyDeps = SessionDeps & { readonly sha256: HashDep };

/** Reads the source once, for its hash. */
export async function copyOf(
  deps: CopyDeps,
  foreign: ForeignLog,
): Promise<Omit<AdoptedCopy, "id"> & { readonly sha256: BlobId }> {
  const { source } = foreign;
  const sha256 = await hashOf(deps.sha256, source);
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
