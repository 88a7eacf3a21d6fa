import type { Change, FrozenParts } from "palimpsest/internal/cache/baseline";
import { stabilityOf, type WorkingStatePart } from "palimpsest/internal/ports/working-state";
import type { RestoredPiece } from "palimpsest/internal/schema/working-state";
import { type Telling, tellingOf, untold } from "../system-prompt/tellings.ts";

export interface HeaderDeps {
  /** What requests carry besides messages from the boundary on. */
  readonly sent: () => FrozenParts;
  /** What they would carry if it were rendered now: instruction files are read anew. */
  readonly now: () => Promise<FrozenParts>;
  /** What the view says of it before the boundary. */
  readonly tellings: () => readonly Telling[];
}

/**
 * Instructions and tools that differ from what requests carry. The messages that told the difference are covered, so it is
 * told again, in today's words, unless a message that is kept tells it; where the boundary brings a fixed part that was rendered anew, there is nothing to tell.
 */
export const headerParts = (deps: HeaderDeps): readonly WorkingStatePart[] => [
  headerPart(deps, { name: "instructions", kinds: ["system-added", "system-changed", "system-removed"] }),
  headerPart(deps, { name: "tools", kinds: ["tool-added", "tool-changed", "tool-removed"] }),
];

interface Told {
  readonly name: "instructions" | "tools";
  readonly kinds: readonly Change["kind"][];
}

const headerPart = ({ sent, now, tellings }: HeaderDeps, { name, kinds }: Told): WorkingStatePart => ({
  name,
  stability: stabilityOf[name],
  snapshot: async ({ budgets: { tokensMax }, isKept }) => {
    const parts = await now();
    const kept = tellings().filter(({ entry }) => isKept(entry));
    const changes = untold({ sent: sent(), told: parts, now: parts, tellings: kept });
    const pieces = changes.filter(({ kind }) => kinds.includes(kind)).flatMap(pieceOf);
    // What people demand of the agent is cut only where nothing else would help.
    const budget = { pieceTokensMax: tokensMax, tokensMax };
    return pieces.length === 0 ? undefined : { kind: "state", pieces, budget };
  },
});

function pieceOf(change: Change): readonly RestoredPiece[] {
  const telling = tellingOf(change);
  if (telling === undefined) return [];
  const { content, ...data } = telling;
  return [{ title: titleOf(change), text: content, ...data }];
}

function titleOf(change: Change): string {
  switch (change.kind) {
    case "tool-added":
    case "tool-changed":
      return change.tool.name;
    case "system-added":
    case "system-changed":
      return change.piece.name;
    case "tool-removed":
    case "system-removed":
      return change.name;
    case "model":
    case "thinking":
    case "betas":
    case "tools-reordered":
    case "system-reordered":
      return change.kind;
  }
}
