import type { CachedPrefixes } from "../cache/cached-prefixes.ts";
import type { ClearPlanner } from "../cache/clear-planner.ts";
import type { ClearMoment } from "../cache/clear-price.ts";
import type { CompactPrice } from "../cache/compact-price.ts";
import type { Inventory } from "../cache/inventory.ts";
import type { Block } from "../schema/block.ts";
import type { EntryId, Millis, ToolUseId } from "../schema/brand.ts";
import type { SwitchName } from "../schema/switches.ts";
import type { Thresholds } from "../tokens/thresholds.ts";
import type { Item } from "../transcript/item.ts";
import type { Decision } from "../transcript/project.ts";
import type { Candidate, LayerName } from "./candidate.ts";

import { headroomBelow } from "./4-compact/headroom.ts";
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
  readonly deletedInCache: ReadonlySet<ToolUseId>;
  /** What the model's provider can do. */
  readonly offers: ReadonlySet<"cache-edits" | "context-edits" | "compaction">;
  /** Absent where nobody can compact. */
  readonly compaction?: CompactionState;
  readonly items: readonly Item[];
  /** How results look in the view; absent where nobody snips or collapses. */
  readonly decisions?: ReadonlyMap<ToolUseId, readonly Decision[]>;
  readonly pins: ReadonlySet<EntryId>;
  readonly count: (block: Block) => number;
}

export interface CompactionState {
  readonly price: CompactPrice;
  /** On what it would remove, since the last one. */
  readonly rent: number;
}

export interface Layer {
  readonly name: LayerName;
  /** Pure. Undefined: it has nothing to propose now. */
  propose(state: PipelineState): Candidate | undefined;
}

/**
 * The next thing to do to the view before a request, or nothing. The caller does it and asks again with the layers that
 * have acted: each acts at most once before a request. `first` takes the layers in their order; `price` compacts where
 * that is due, since whatever else were done would be done for nothing, and otherwise does what pays. At the threshold
 * clearing may come instead, where it makes room at less a token.
 */
export function nextCandidate(input: NextInput): Candidate | undefined {
  const { layers, state, acted } = input;
  const open = layers.filter(({ name }) => !acted.has(name));
  switch (state.policy.chooses) {
    case "first":
      return firstOf(open, state);
    case "price": {
      const due = open.find(({ name }) => name === "compact")?.propose(state);
      const others = open.filter(({ name }) => name !== "compact");
      return due === undefined ? firstOf(others, state) : (cheaperRoom(others, { due, state }) ?? due);
    }
  }
}

export interface NextInput {
  readonly layers: readonly Layer[];
  readonly state: PipelineState;
  readonly acted: ReadonlySet<LayerName>;
}

interface Due {
  readonly due: Candidate;
  readonly state: PipelineState;
}

/** A clearing that ends what makes compaction due, and frees a token for less. */
function cheaperRoom(layers: readonly Layer[], { due, state }: Due): Candidate | undefined {
  const { moment, thresholds, compaction } = state;
  const found = layers.find(({ name }) => name === "clear.price")?.propose(state);
  if (found?.act.kind !== "clear" || found.act.priced === undefined || compaction === undefined) return undefined;
  const isEnough = moment.contextTokens - found.removesTokens + headroomBelow(thresholds.compact) <= thresholds.compact;
  if (due.act.kind !== "compact" || due.act.trigger === "price" || !isEnough) return undefined;
  const { againCost, riskCost } = found.act.priced;
  const price = (againCost + riskCost) / found.removesTokens;
  return price < compaction.price.total / due.removesTokens ? found : undefined;
}

function firstOf(layers: readonly Layer[], state: PipelineState): Candidate | undefined {
  for (const layer of layers) {
    const candidate = layer.propose(state);
    if (candidate !== undefined) return candidate;
  }
  return undefined;
}
