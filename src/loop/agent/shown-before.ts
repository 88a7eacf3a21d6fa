import type { EntryId } from "../../schema/brand.ts";
import { estimateBlock } from "../../tokens/estimate.ts";
import type { Shown } from "../../transcript/receipt.ts";

/** Tokens of what the view shows before this entry, in the inventory's count; of all of it where it shows nothing of the entry. */
export function shownBefore(shown: Shown, entry: EntryId): number {
  let sum = 0;
  for (const [one, blocks] of shown) {
    if (one === entry) break;
    for (const block of blocks) sum += estimateBlock(block);
  }
  return sum;
}

/** The first entry of which the view shows nothing before so many tokens; undefined where there is none. */
export function shownFrom(shown: Shown, tokens: number): EntryId | undefined {
  let sum = 0;
  for (const [entry, blocks] of shown) {
    if (sum >= tokens) return entry;
    for (const block of blocks) sum += estimateBlock(block);
  }
  return undefined;
}
