import type { Block } from "../../schema/block.ts";
import { type EntryId, type Tokens, tokens, type ToolUseId } from "../../schema/brand.ts";
import { Flattener } from "../../transcript/flattener.ts";
import type { Item } from "../../transcript/item.ts";
import type { Decision } from "../../transcript/projection.ts";
import { withFirstUser } from "../../transcript/repair.ts";

/** What a plan reads of the projection. */
export interface ViewState {
  readonly items: readonly Item[];
  readonly decisions: ReadonlyMap<ToolUseId, readonly Decision[]>;
  readonly pins: ReadonlySet<EntryId>;
  /** Results that the provider was asked to leave out: the messages show them, the model does not see them. */
  readonly withheld: ReadonlySet<ToolUseId>;
}

export type CountBlock = (block: Block) => Tokens;

export function flattenItems({ decisions }: Pick<ViewState, "decisions">, items: readonly Item[]): Flattener {
  const flattened = new Flattener({ decisions });
  for (const item of items) flattened.push(item);
  flattened.settle();
  return flattened;
}

/** By how much one view is smaller than another. Counts only what is not in both. */
export function tokensFreed(before: Flattener, after: Flattener, count: CountBlock): Tokens {
  const was = new Set(listBlocks(before));
  const is = new Set(listBlocks(after));
  let freed = 0;
  for (const block of was.difference(is)) freed += count(block);
  for (const block of is.difference(was)) freed -= count(block);
  return tokens(freed);
}

const listBlocks = (flattened: Flattener): readonly Block[] =>
  withFirstUser(flattened.groups).flatMap(({ content }) => content);
