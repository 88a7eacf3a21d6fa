import type { Block } from "../schema/block.ts";

/** The same bytes. Blocks of a view are values that stay the same objects, until a change of structure makes some anew. */
export const sameBlock = (one: Block, other: Block | undefined): boolean =>
  one === other || (other !== undefined && one.type === other.type && JSON.stringify(one) === JSON.stringify(other));
