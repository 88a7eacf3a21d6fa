import type { CompactSize } from "../../cache/compact-price.ts";
import type { Policy } from "../../layers/policy.ts";
import type { Message } from "../../schema/block.ts";
import type { EntryId } from "../../schema/brand.ts";
import type { Entry } from "../../schema/entry.ts";
import type { Item } from "../../transcript/item.ts";
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
  /** Undefined: there is nothing to compact. Changes nothing in the view. `noted`: notes are the summary. */
  make(view: ReplayedView, noted?: NotedPart): Compacted | undefined;
}

/** Where notes are the summary: nobody is asked, and what they do not cover stays, with some of what they do. */
export interface NotedPart {
  readonly kept: readonly Item[];
  /** Of the notes, as they are taken to be. */
  readonly notesTokens: number;
}

export interface Compacted extends ViewBoundary {
  /** What the call wrote. */
  readonly outputTokens: number;
}

export interface CompactionsInput {
  readonly world: ReplayWorld;
  readonly policy: Policy;
  readonly thresholds: Thresholds;
  /** Absent: the summary is extracted from the facts. */
  readonly summarise?: Summarise | undefined;
}

/** In place of a model: the same messages have the same summary. */
export type Summarise = (input: SummariseInput) => string;

export interface SummariseInput {
  /** As the policy shows them before the compaction. */
  readonly messages: readonly Message[];
  readonly last: LastCompaction | undefined;
  /** The entry that was said last. */
  readonly newest: EntryId | undefined;
}

/** What the compaction before has left in the view. */
export interface LastCompaction {
  /** Its summary alone, with what was carried into it. */
  readonly summary: string;
  /** The text in which the summary stands. */
  readonly summaryText: string;
  /** That one, and all that was put back beside it. */
  readonly texts: ReadonlySet<string>;
}
