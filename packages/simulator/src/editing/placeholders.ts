import type { WireBlock } from "palimpsest/internal/schema/wire/block";

/**
 * What stands in place of cleared blocks, the same object each time: so that a request that is cleared like the one
 * before it is known by its blocks, as one that is not cleared is. A block has one placeholder.
 */
export class Placeholders {
  readonly #placeholderByBlock = new WeakMap<WireBlock, WireBlock>();

  of<Block extends WireBlock>(block: Block, make: (block: Block) => WireBlock): WireBlock {
    const known = this.#placeholderByBlock.get(block);
    if (known !== undefined) return known;
    const made = make(block);
    this.#placeholderByBlock.set(block, made);
    return made;
  }
}
