import type { CostSource } from "../../cache/costs.ts";
import type { EntryId } from "../../schema/brand.ts";
import type { SpentRounds } from "../../schema/edit.ts";
import type { Numbers } from "../../settings/numbers.ts";
import type { Fold } from "../../transcript/fold.ts";
import type { Path } from "../../transcript/path.ts";
import { typedText } from "../../transcript/person.ts";
import { failuresSoFar, roundsSinceFailure, spentLately } from "./standing.ts";

/** How a compaction follows the one before it: short chains are a sign that something fills the window. */
export interface Chain {
  /** The boundary before; absent for the first. */
  readonly previous?: EntryId;
  /** How many boundaries are in force already. */
  readonly boundaries: number;
  readonly turnsSince: number;
  readonly roundsSince: number;
  readonly thresholdTokens: number;
  readonly source: CostSource;
  /** What the spend guard must know of the rounds before it. */
  readonly spent: readonly SpentRounds[];
  /** And the breaker. */
  readonly roundsSinceFailure?: number;
}

export interface ChainInput {
  readonly numbers: Numbers;
  readonly source: CostSource;
}

/** Costs a walk along what was said since the boundary before. */
export function chainOf(fold: Fold, { numbers, source }: ChainInput): Chain {
  const { path, projection } = fold;
  const previous = projection.boundaries.at(-1)?.id;
  const after = previous === undefined ? 0 : path.findLastIndex(({ entry }) => entry.id === previous) + 1;
  const since = path.loggedFrom(after).map(({ entry }) => entry);
  const replies = since.flatMap((entry) =>
    entry.kind === "assistant" && !entry.synthetic ? [entry.messageId ?? entry.id] : [],
  );
  return {
    ...(previous === undefined ? {} : { previous }),
    boundaries: boundariesBefore(path) + projection.boundaries.length,
    turnsSince: since.filter((entry) => typedText(entry) !== undefined).length,
    roundsSince: new Set(replies).size,
    thresholdTokens: numbers.thresholds.compact,
    source,
    spent: spentLately(path),
    ...(failuresSoFar(fold) === 0 ? {} : { roundsSinceFailure: roundsSinceFailure(path) }),
  };
}

/** Of a log that was read from a boundary on: how many that one follows. */
function boundariesBefore(path: Path): number {
  const first = path.at(0)?.entry;
  return first?.kind === "edit" && first.edit.type === "boundary" ? (first.edit.metadata.chain?.boundaries ?? 0) : 0;
}
