import type { EntryId } from "../../schema/brand.ts";
import { type Item, withPairs } from "../../transcript/item.ts";
import type { Layer } from "../layer.ts";
import type { PipelineState } from "../pipeline-state.ts";
import { explainRemoval, formatTokens } from "../reason.ts";
import { snipEdit } from "./snip-low-value.ts";

/** Removes the oldest rounds, results with their calls, until the context is small enough. Pinned entries stay. */
export const truncateOldest: Layer = {
  name: "truncate",
  switches: ["compact.auto"],
  propose(state) {
    const { moment } = state;
    const limit = state.policy.truncate?.overTokens;
    if (limit === undefined || !state.isOn("compact.auto") || moment.contextTokens <= limit) return undefined;
    const { entries, removesTokens } = findOldest(state, moment.contextTokens - limit);
    if (entries.size === 0) return undefined;
    const because = `the context is over ${formatTokens(limit)}: ${explainRemoval({ removesTokens, of: "the oldest rounds" }, moment)}`;
    return {
      layer: "truncate",
      removesTokens,
      behindTokens: moment.contextTokens - moment.fixedTokens - removesTokens,
      because,
      edit: snipEdit([...entries], because),
    };
  },
};

interface OldestEntries {
  readonly entries: ReadonlySet<EntryId>;
  readonly removesTokens: number;
}

function findOldest({ items, pins, count }: PipelineState, freeTokens: number): OldestEntries {
  const entries = new Set<EntryId>();
  const itemByEntry = new Map(items.map((item) => [item.entry, item]));
  const newest = items.at(-1)?.entry;
  let removesTokens = 0;
  for (const { entry } of items) {
    if (removesTokens >= freeTokens) break;
    if (pins.has(entry) || entries.has(entry)) continue;
    const together = withPairs(items, new Set([entry]), "both");
    // The newest item is the current question: without it there is nothing to send.
    if (newest !== undefined && together.has(newest)) break;
    if (!together.isDisjointFrom(pins)) continue;
    for (const paired of together) {
      if (entries.has(paired)) continue;
      entries.add(paired);
      removesTokens += countItemTokens(itemByEntry.get(paired), count);
    }
  }
  return { entries, removesTokens };
}

const countItemTokens = (item: Item | undefined, count: PipelineState["count"]): number =>
  item === undefined ? 0 : item.blocks.reduce((sum, block) => sum + count(block), 0);
