import type { BlobsDep } from "palimpsest/internal/ports/blobs";
import type { CompactionAsks, CompactionWish } from "palimpsest/internal/ports/compaction-asks";
import { compactToolName } from "palimpsest/internal/ports/compaction-asks";
import { readParts, readState } from "palimpsest/internal/session/frozen-state";
import type { Session } from "palimpsest/internal/session/session";

export interface AsksInput {
  readonly session: Session;
  /** Under the name by which it is asked. */
  readonly model: string;
  /** Whether the switch is on at this moment. */
  readonly isOn: () => boolean;
}

/**
 * Where a session's agent can ask for compaction; undefined where it can't. The tool is one more definition in front of
 * everything, so a session whose requests to the model were sent without it goes on without it.
 */
export async function compactionAsksFor(
  deps: BlobsDep,
  { session, model, isOn }: AsksInput,
): Promise<CompactionAsks | undefined> {
  if (!isOn()) return undefined;
  const sent = await readParts(deps, readState(session.fold)?.byModel[model]?.sent);
  const isDefined = sent === undefined || sent.tools.some(({ name }) => name === compactToolName);
  return isDefined ? compactionAsks(isOn) : undefined;
}

/** A switch that is turned off while a session runs leaves the tool defined, so that no byte changes, and refusing. */
export function compactionAsks(isOn: () => boolean): CompactionAsks {
  let wish: CompactionWish | undefined;
  return {
    ask: (note) => {
      if (!isOn()) return { kind: "refused", why: "Asking for compaction has been turned off." };
      wish = { note };
      return { kind: "taken" };
    },
    take: () => {
      const taken = isOn() ? wish : undefined;
      wish = undefined;
      return taken;
    },
  };
}
