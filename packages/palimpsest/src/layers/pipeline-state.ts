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
  /** Remembers between the requests of one conversation when nothing can pay; absent: every plan looks at everything. */
  readonly planner?: ClearPlanner;
  readonly thresholds: Pick<Thresholds, "warning" | "compact" | "blocking">;
  /** `turn`: a person spoke since the last reply. */
  readonly opens: "turn" | "nothing";
  /** Since the last reply; undefined where there was none. */
  readonly idleMillis: Millis | undefined;
  /** Of the request as it would be had nothing ever been cleared. */
  readonly sentTokens: number;
  /** Since the last clearing; undefined where there was none. */
  readonly roundsSinceClear: number | undefined;
  /** Deleted in the provider's cache already. */
  readonly withheld: ReadonlySet<ToolUseId>;
  /** What the model's provider can do; undefined where nobody knows yet. */
  readonly offers: Offers | undefined;
  /** Absent where nobody can compact. */
  readonly compaction?: CompactionState;
  readonly items: readonly Item[];
  /** How results look in the view; absent where no layer takes whole rounds away. */
  readonly decisions?: ReadonlyMap<ToolUseId, readonly Decision[]>;
  readonly pins: ReadonlySet<EntryId>;
  readonly count: (block: Block) => number;
}

/** By the names that the layers give them. */
export type Offers = ReadonlySet<string>;

export interface CompactionState {
  readonly price: CompactPrice;
  /** On what it would remove, since the last one. */
  readonly rent: number;
}
