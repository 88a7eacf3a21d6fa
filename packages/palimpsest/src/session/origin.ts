import type { ByteSource } from "../ports/transcripts.ts";
import type { BlobId, Bytes } from "../schema/brand.ts";
import type { Edit } from "../schema/edit.ts";
import { hashOf, type HashDep } from "./hash.ts";
import { originLineBytesMax } from "./limits.ts";
import { readPlace } from "./scan.ts";

const newline = 0x0a;

/** What the first line of a session says of the other tool's log that it was made from. */
export interface SessionOrigin {
  readonly edit: Extract<Edit, { type: "origin" }>;
  /** Where the copy ends. */
  readonly until: number;
}

/** By which a source is known again. */
export interface SourceMark {
  readonly length: Bytes;
  readonly sha256: BlobId;
}

export async function readOrigin(source: ByteSource): Promise<SessionOrigin | undefined> {
  const head = await source.read({ start: 0, end: Math.min(originLineBytesMax, source.size) });
  const end = head.indexOf(newline);
  const first = end === -1 ? undefined : await readPlace(source, { start: 0, end });
  const edit = first?.entry.kind === "edit" ? first.entry.edit : undefined;
  return edit?.type === "origin" ? { edit, until: end + 1 + edit.length } : undefined;
}

/** The file as it was: of a translated log the original, not the translation. */
export const sourceMark = ({ edit }: SessionOrigin): { readonly length: number; readonly sha256: BlobId } =>
  edit.translatedFrom ?? { length: edit.length, sha256: edit.sha256 };

export type SourceState =
  | { readonly kind: "same" }
  /** It begins as it was and goes on: the growth can be imported. */
  | { readonly kind: "grown"; readonly bytes: number }
  | { readonly kind: "changed" };

/** What has become of the file that a session was made from. */
export async function sourceState(sha256: HashDep, origin: SessionOrigin, now: ByteSource): Promise<SourceState> {
  const mark = sourceMark(origin);
  if (now.size < mark.length) return { kind: "changed" };
  if ((await hashOf(sha256, now, mark.length)) !== mark.sha256) return { kind: "changed" };
  return now.size === mark.length ? { kind: "same" } : { kind: "grown", bytes: now.size - mark.length };
}
