import { redactFile } from "palimpsest/internal/memory/redact-secrets";
import type { SecretScannerDep } from "palimpsest/internal/ports/secret-scanner";
import type { SessionFiles } from "palimpsest/internal/ports/session-files";
import type { WorkingStatePart } from "palimpsest/internal/ports/working-state";
import type { SettingValues } from "palimpsest/internal/schema/setting-table";
import type { RestoredPiece } from "palimpsest/internal/schema/restored-part";
import {
  createRedaction,
  redactedMessage,
  type Redaction,
  type RedactionDep,
} from "palimpsest/internal/session/redaction";

/** Redaction of an agent's session, and what it has to tell the user. */
export interface SessionRedaction extends Redaction {
  /** What was left out since the last call, for the user; empty if nothing was. */
  takeNotices(): readonly string[];
}

/** Undefined if the setting keeps secrets: then everything is stored as it is. */
export function openSessionRedaction(
  setting: SettingValues["secrets"],
  { secrets }: SecretScannerDep,
): SessionRedaction | undefined {
  if (setting === "keep") return undefined;
  const found: { readonly kind: string }[] = [];
  const redaction = createRedaction({ secrets, onRedacted: (findings) => void found.push(...findings) });
  return {
    ...redaction,
    takeNotices: () => (found.length === 0 ? [] : [redactedMessage(found.splice(0))]),
  };
}

/** Files that are shown again after a compaction are read from disk, not from the session. */
export const redactWorkingState = (
  parts: readonly WorkingStatePart[],
  redaction: Redaction | undefined,
): readonly WorkingStatePart[] =>
  redaction === undefined
    ? parts
    : parts.map((part) => ({
        ...part,
        snapshot: async (request) => {
          const state = await part.snapshot(request);
          if (state?.kind !== "state") return state;
          const pieces = state.pieces.map(async (piece): Promise<RestoredPiece> =>
            piece.text === undefined ? piece : { ...piece, text: await redaction.text(piece.text) },
          );
          return { ...state, pieces: await Promise.all(pieces) };
        },
      }));

/** The store's files, of which the plan holds no secret either. */
export function redactPlanFile<Files extends SessionFiles>(
  files: Files,
  { secrets, redaction }: SecretScannerDep & RedactionDep,
): Files {
  const { planFileFor } = files;
  return redaction === undefined || planFileFor === undefined
    ? files
    : { ...files, planFileFor: (session) => redactFile(planFileFor(session), secrets) };
}
