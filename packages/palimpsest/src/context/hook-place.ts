import type { HookContext } from "../ports/hooks.ts";
import type { TranscriptsDep } from "../ports/transcripts.ts";
import type { SessionId } from "../schema/brand.ts";

/** Where hooks find a session: with the place of its transcript, if its store has one that can be linked to. */
export function hookPlace(
  { transcripts }: TranscriptsDep,
  { session, cwd }: { readonly session: SessionId; readonly cwd: string },
): HookContext {
  const transcriptPath = transcripts.linkTo?.(session);
  return { session, ...(transcriptPath === undefined ? {} : { transcriptPath }), cwd };
}
