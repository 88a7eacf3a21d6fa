import { z } from "zod";
import type { Session } from "palimpsest/internal/session/session";
import { originLineBytesMax } from "palimpsest/internal/session/limits";
import type { WriteFailure } from "palimpsest/internal/ports/blobs";
import type { Transcripts, TranscriptsDep } from "palimpsest/internal/ports/transcripts";
import { type SessionId, sessionId } from "palimpsest/internal/schema/brand";
import { codeOf } from "../tool/failure.ts";
import { ancestorsMax } from "./limits.ts";

/**
 * The sessions that this one was forked from, newest first. A fork notes whom it was copied from, and a copied entry
 * names the session that wrote it, but so may any line of a log from elsewhere: only a transcript that begins as ours
 * does is believed to be one that ours was copied from.
 */
export async function ancestorsOf({ transcripts }: TranscriptsDep, session: Session): Promise<readonly SessionId[]> {
  const named = namedBy(session);
  if (named.length === 0) return [];
  const own = await firstLine(transcripts, session.id);
  const found = await Promise.all(
    named.map(async (id) => (own !== undefined && (await firstLine(transcripts, id)) === own ? [id] : [])),
  );
  return found.flat();
}

/**
 * Notes in a fresh copy which session it was made from: behind a boundary, no entry of the view tells. No store removes a
 * session: where the note fails, the copy stays, and a person is told which it is.
 */
export async function rememberOrigin(session: Session, from: SessionId): Promise<WriteFailure | undefined> {
  const value = [...new Set([from, ...namedBy(session)])].slice(0, ancestorsMax);
  const appended = await session.append({ type: "setting", name: ancestorsName, value });
  if (appended.kind === "appended") return undefined;
  return { ...appended, message: `${appended.message} (session ${session.id}, the copy of ${from}, stays behind)` };
}

/** Kept as a setting of the session: it goes through boundaries with the others. */
const ancestorsName = "session.ancestors";

const ancestorsShape = z.array(z.string());

function namedBy({ id, fold }: Session): readonly SessionId[] {
  const noted = ancestorsShape.safeParse(fold.projection.settings.get(ancestorsName));
  const writers = fold.path.entries
    .toReversed()
    .flatMap((entry) => (entry.kind === "assistant" && entry.session !== undefined ? [entry.session] : []));
  return [...new Set([...(noted.success ? noted.data : []), ...writers])]
    .flatMap((name) => (name === id ? [] : [sessionId(name)]))
    .slice(0, ancestorsMax);
}

/** Of a very long one its start. Undefined where there is none. */
async function firstLine(transcripts: Transcripts, id: SessionId): Promise<string | undefined> {
  try {
    const source = await transcripts.openForReading(id);
    if (source === undefined) return undefined;
    try {
      const head = await source.read({ start: 0, end: Math.min(originLineBytesMax, source.size) });
      const end = head.indexOf(0x0a);
      return head.length === 0 ? undefined : new TextDecoder().decode(end === -1 ? head : head.subarray(0, end));
    } finally {
      await source.close();
    }
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    return undefined;
  }
}
