import { scanChunkBytes } from "palimpsest/internal/session/limits";
import type { WriteFailure } from "palimpsest/internal/ports/blobs";
import type { ByteSource, OpenForWriting, TranscriptsDep } from "palimpsest/internal/ports/transcripts";
import { bytes, type SessionId } from "palimpsest/internal/schema/brand";

export interface Copying {
  readonly from: SessionId;
  readonly to: SessionId;
}

export type Copied =
  | { readonly kind: "copied" }
  | { readonly kind: "missing"; readonly id: SessionId }
  | { readonly kind: "busy"; readonly holder: string }
  | WriteFailure;

/**
 * Byte for byte: what was frozen stays frozen, the requests go on with the same bytes, and places that the log names
 * are where they were. Whole or not at all.
 */
export async function copySession({ transcripts }: TranscriptsDep, { from, to }: Copying): Promise<Copied> {
  const source = await transcripts.openForReading(from);
  if (source === undefined) return { kind: "missing", id: from };
  try {
    const first = await firstLine(source);
    // A log that has not begun has no first line either.
    const made: OpenForWriting =
      first === undefined
        ? await transcripts.create(to)
        : await transcripts.adopt({ id: to, originLine: first.text, ...behind(source, first.end) });
    if (made.kind === "exists" || made.kind === "missing") return { kind: "missing", id: to };
    if (made.kind !== "open") return made;
    await made.writer.close();
    return { kind: "copied" };
  } finally {
    await source.close();
  }
}

/** Without its line break; `end` is behind it. */
async function firstLine(source: ByteSource): Promise<{ readonly text: string; readonly end: number } | undefined> {
  if (source.size === 0) return undefined;
  const chunks: Uint8Array[] = [];
  let end = 0;
  for (let found = -1; found === -1 && end < source.size;) {
    const chunk = await source.read({ start: end, end: Math.min(source.size, end + scanChunkBytes) });
    found = chunk.indexOf(newline);
    chunks.push(found === -1 ? chunk : chunk.subarray(0, found));
    end += found === -1 ? chunk.length : found + 1;
  }
  return { text: Buffer.concat(chunks).toString("utf8"), end };
}

const newline = 0x0a;

function behind(
  source: ByteSource,
  from: number,
): { readonly source: ByteSource; readonly length: ByteSource["size"] } {
  const size = bytes(source.size - from);
  const read: ByteSource["read"] = ({ start, end }) => source.read({ start: start + from, end: end + from });
  return { source: { size, read, close: () => source.close() }, length: size };
}
