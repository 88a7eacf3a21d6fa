import type { CompactSize } from "../../cache/compact-price.ts";
import type { Policy } from "../../layers/policy.ts";
import type { Entry } from "../../schema/entry.ts";
import type { Thresholds } from "../../tokens/thresholds.ts";
import type { ReplayWorld } from "../replay-world.ts";
import type { ReplayedView, ViewBoundary } from "../replayed-view.ts";

/** How the compactions of one run are made. */
export interface Compactions {
  /** What the next one is taken to write and to leave. */
  readonly size: CompactSize;
  /** Of what the next one would leave as it is. */
  keptTokens(view: ReplayedView): number;
  /** Everything that is said passes here, in order. */
  heard(entries: readonly Entry[]): void;
  /** Undefined: there is nothing to compact. Changes nothing in the view. */
  make(view: ReplayedView): Compacted | undefined;
}

export interface Compacted extends ViewBoundary {
  /** What the call wrote. */
  readonly outputTokens: number;
}

export interface CompactionsInput {
  readonly world: ReplayWorld;
  readonly policy: Policy;
  readonly thresholds: Thresholds;
}
