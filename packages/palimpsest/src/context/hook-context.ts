import type { HookContext } from "../ports/hooks.ts";
import type { TranscriptsDep } from "../ports/transcripts.ts";
import type { SessionId } from "../schema/brand.ts";

/** What hooks are told about a session. Includes the path of its transcript if the store has one that can be linked to. */
export function hookContext(
  { transcripts }: TranscriptsDep,
  { session, cwd }: { readonly session: SessionId; readonly cwd: string },
): HookContext {
  const transcriptPath = transcripts.linkTo?.(session);
  return { session, ...(transcriptPath === undefined ? {} : { transcriptPath }), cwd };
}
