import type { Agent } from "../agent/agent.ts";
import { scanForward } from "palimpsest/internal/session/scan";
import type { TranscriptsDep } from "palimpsest/internal/ports/transcripts";
import type { Entry } from "palimpsest/internal/schema/entry";
import { Path } from "palimpsest/internal/transcript/path";
import { pastBytesMax } from "./limits.ts";

/**
 * What was said in a session, oldest first. A session is opened from its last boundary on; a person wants to see what stands
 * before it too, so the log is read once more where it is not too large for that.
 */
export async function pastOf({ transcripts }: TranscriptsDep, { session }: Agent): Promise<readonly Entry[]> {
  const known = session.fold.path.entries;
  if (session.read.from === "beginning" || session.read.of > pastBytesMax) return known;
  const source = await transcripts.openForReading(session.id);
  if (source === undefined) return known;
  try {
    const path = new Path();
    for await (const { logged } of scanForward(source)) for (const one of logged) path.append(one);
    return path.entries;
  } finally {
    await source.close();
  }
}
