import type { Block } from "../schema/block.ts";
import type { EntryId } from "../schema/brand.ts";
import type { Shown } from "../transcript/receipt.ts";

export interface CountedShown {
  readonly shown: Shown;
  /** The inventory's. */
  readonly count: (block: Block) => number;
}

/** Tokens of what the view shows before this entry; of all of it where it shows nothing of the entry. */
export function shownBefore({ shown, count }: CountedShown, entry: EntryId): number {
  let sum = 0;
  for (const [one, blocks] of shown) {
    if (one === entry) break;
    for (const block of blocks) sum += count(block);
  }
  return sum;
}

/** The first entry of which the view shows nothing before so many tokens; undefined where there is none. */
export function shownFrom({ shown, count }: CountedShown, tokens: number): EntryId | undefined {
  let sum = 0;
  for (const [entry, blocks] of shown) {
    if (sum >= tokens) return entry;
    for (const block of blocks) sum += count(block);
  }
  return undefined;
}
