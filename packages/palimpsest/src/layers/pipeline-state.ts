import type { CachedPrefixes } from "../cache/cached-prefixes.ts";
import type { ClearPlanner } from "../cache/clear-planner.ts";
import type { ClearMoment } from "../cache/clear-price.ts";
import type { CompactPrice } from "../cache/compact-price.ts";
import type { Inventory } from "../cache/inventory.ts";
import type { Block } from "../schema/block.ts";
import type { EntryId, Millis, ToolUseId } from "../schema/brand.ts";
import type { SwitchName } from "../schema/switch-rows.ts";
import type { Thresholds } from "../tokens/thresholds.ts";
import type { Item } from "../transcript/item.ts";
import type { Decision } from "../transcript/projection.ts";
import type { Policy } from "./policy.ts";

/** Everything a layer may look at before a request. Live: valid until the next append. */
export interface PipelineState {
  readonly policy: Policy;
  readonly isOn: (name: SwitchName) => boolean;
  readonly inventory: Inventory;
  readonly prefixes: CachedPrefixes;
  readonly moment: ClearMoment;
  /**
   * Remembers, between the requests of one conversation, until when nothing can pay. Absent: every plan looks at all
   * residents.
   */
  readonly planner?: ClearPlanner;
  readonly thresholds: Pick<Thresholds, "window" | "warning" | "compact" | "blocking">;
  /** `turn`: the user has spoken since the last reply. */
  readonly opens: "turn" | "nothing";
  /** Time since the last reply. Undefined if there was none. */
  readonly idleMillis: Millis | undefined;
  /** Tokens of the request as it would be if nothing had ever been cleared. */
  readonly sentTokens: number;
  /** What a round adds to the context on average, as measured in this conversation. */
  readonly growthTokens: number;
  /** Rounds since the last clearing. Undefined if there was none. */
  readonly roundsSinceClear: number | undefined;
  /** Results that are already deleted in the provider's cache. */
  readonly withheld: ReadonlySet<ToolUseId>;
  /** What the model's provider can do. Undefined if it is not known yet. */
  readonly offers: Offers | undefined;
  /** Absent if compaction is not possible. */
  readonly compaction?: CompactionState;
  readonly items: readonly Item[];
  /** How results look in the view. Absent if no layer takes whole rounds away. */
  readonly decisions?: ReadonlyMap<ToolUseId, readonly Decision[]>;
  readonly pins: ReadonlySet<EntryId>;
  readonly count: (block: Block) => number;
}

/** Names that the layers give to what the server offers. */
export type Offers = ReadonlySet<string>;

export interface CompactionState {
  readonly price: CompactPrice;
  /** The rent on what it would remove, accrued since the last compaction. */
  readonly rent: number;
  /** Requests since then. */
  readonly rounds: number;
}
