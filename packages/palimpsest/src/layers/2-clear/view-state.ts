import type { Block } from "../../schema/block.ts";
import { type EntryId, type Tokens, tokens, type ToolUseId } from "../../schema/brand.ts";
import { Flattener } from "../../transcript/flattener.ts";
import type { Item } from "../../transcript/item.ts";
import type { Decision } from "../../transcript/projection.ts";
import { withFirstUser } from "../../transcript/repair.ts";

/** The part of the projection that a plan reads. */
export interface ViewState {
  readonly items: readonly Item[];
  readonly decisions: ReadonlyMap<ToolUseId, readonly Decision[]>;
  readonly pins: ReadonlySet<EntryId>;
  /** Results that the provider was asked to leave out: the messages hold them, the model does not see them. */
  readonly withheld: ReadonlySet<ToolUseId>;
}

export type CountBlock = (block: Block) => Tokens;

export function flattenItems({ decisions }: Pick<ViewState, "decisions">, items: readonly Item[]): Flattener {
  const flattened = new Flattener({ decisions });
  for (const item of items) flattened.push(item);
  flattened.settle();
  return flattened;
}

/** How much smaller one view is than another. Counts only what is not in both. */
export function tokensFreed(before: Flattener, after: Flattener, count: CountBlock): Tokens {
  const blocksBefore = new Set(listBlocks(before));
  const blocksAfter = new Set(listBlocks(after));
  let freed = 0;
  for (const block of blocksBefore.difference(blocksAfter)) freed += count(block);
  for (const block of blocksAfter.difference(blocksBefore)) freed -= count(block);
  return tokens(freed);
}

const listBlocks = (flattened: Flattener): readonly Block[] =>
  withFirstUser(flattened.groups).flatMap(({ content }) => content);
