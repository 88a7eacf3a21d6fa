import { scanChunkBytes, originLineBytesMax } from "palimpsest/internal/session/limits";
import type { WriteFailure } from "palimpsest/internal/ports/blobs";
import type {
  ByteSource,
  OpenForWritingOutcome,
  TranscriptsDep,
  Transcripts,
} from "palimpsest/internal/ports/transcripts";
import { bytes, type SessionId, sessionId } from "palimpsest/internal/schema/brand";
import { z } from "zod";
import type { Session } from "palimpsest/internal/session/session";
import { errorCode } from "../../tool/error-code.ts";
import { ancestorsMax } from "../limits.ts";

type CopySessionOutcome =
  | { readonly kind: "copied" }
  | { readonly kind: "missing"; readonly id: SessionId }
  | { readonly kind: "busy"; readonly holder: string }
  | WriteFailure;

/**
 * Copies byte for byte: what was frozen stays frozen, requests continue with the same bytes, and offsets in the log
 * stay valid. Copies the whole log or nothing.
 */
export async function copySession(
  { transcripts }: TranscriptsDep,
  { from, to }: { readonly from: SessionId; readonly to: SessionId },
): Promise<CopySessionOutcome> {
  const source = await transcripts.openForReading(from);
  if (source === undefined) return { kind: "missing", id: from };
  try {
    const firstLine = await readOriginLine(source);
    // An empty log has no first line.
    const opened: OpenForWritingOutcome =
      firstLine === undefined
        ? await transcripts.create(to)
        : await transcripts.adopt({ id: to, originLine: firstLine.text, ...sourceFrom(source, firstLine.end) });
    if (opened.kind === "exists" || opened.kind === "missing") return { kind: "missing", id: to };
    if (opened.kind !== "open") return opened;
    await opened.writer.close();
    return { kind: "copied" };
  } finally {
    await source.close();
  }
}

/** The first line without its line break; `end` is the offset behind the break. */
async function readOriginLine(
  source: ByteSource,
): Promise<{ readonly text: string; readonly end: number } | undefined> {
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

function sourceFrom(
  source: ByteSource,
  from: number,
): { readonly source: ByteSource; readonly length: ByteSource["size"] } {
  const size = bytes(source.size - from);
  const read: ByteSource["read"] = ({ start, end }) => source.read({ start: start + from, end: end + from });
  return { source: { size, read, close: () => source.close() }, length: size };
}

/**
 * The sessions that this one was forked from, newest first. A fork notes its source, and a copied entry names the
 * session that wrote it, but a log from elsewhere may claim the same: a session is only believed to be an ancestor if
 * its transcript begins with the same line as ours.
 */
export async function findAncestors({ transcripts }: TranscriptsDep, session: Session): Promise<readonly SessionId[]> {
  const candidates = candidateAncestors(session);
  if (candidates.length === 0) return [];
  const firstLine = await readFirstLine(transcripts, session.id);
  const confirmed = await Promise.all(
    candidates.map(async (id) =>
      firstLine !== undefined && (await readFirstLine(transcripts, id)) === firstLine ? [id] : [],
    ),
  );
  return confirmed.flat();
}

/**
 * Notes in a fresh copy which session it was made from, since behind a boundary no entry of the view says so. If the
 * note fails, the copy stays, and the error names it: only the user deletes sessions.
 */
export async function rememberOrigin(session: Session, from: SessionId): Promise<WriteFailure | undefined> {
  const value = [...new Set([from, ...candidateAncestors(session)])].slice(0, ancestorsMax);
  const appended = await session.append({ type: "setting", name: ancestorsName, value });
  if (appended.kind === "appended") return undefined;
  return { ...appended, message: `${appended.message} (session ${session.id}, the copy of ${from}, stays behind)` };
}

/** Kept as a setting of the session, so that it survives boundaries with the others. */
const ancestorsName = "session.ancestors";

const ancestorsShape = z.array(z.string());

function candidateAncestors({ id, fold }: Session): readonly SessionId[] {
  const noted = ancestorsShape.safeParse(fold.projection.settings.get(ancestorsName));
  const writers = fold.path.entries
    .toReversed()
    .flatMap((entry) => (entry.kind === "assistant" && entry.session !== undefined ? [entry.session] : []));
  return [...new Set([...(noted.success ? noted.data : []), ...writers])]
    .flatMap((name) => (name === id ? [] : [sessionId(name)]))
    .slice(0, ancestorsMax);
}

/** At most the beginning of a very long line. Undefined if there is none. */
async function readFirstLine(transcripts: Transcripts, id: SessionId): Promise<string | undefined> {
  try {
    const source = await transcripts.openForReading(id);
    if (source === undefined) return undefined;
    try {
      const head = await source.read({ start: 0, end: Math.min(originLineBytesMax, source.size) });
      const end = head.indexOf(newline);
      return head.length === 0 ? undefined : new TextDecoder().decode(end === -1 ? head : head.subarray(0, end));
    } finally {
      await source.close();
    }
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return undefined;
  }
}
