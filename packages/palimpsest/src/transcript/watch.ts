import type { Block } from "../schema/block.ts";
import type { EntryId } from "../schema/brand.ts";
import type { Item } from "./item.ts";

/**
 * Told of every block that enters or leaves the view, so that whoever counts can do so in proportion to the change.
 * Order: `reset`, then for each item `item` and its blocks; later changes as they come.
 */
export interface ViewWatch {
  /**
   * The view is told again from its beginning. `structureAt`: where on the path items were last moved or taken away.
   * `anew`: what was told before counts for nothing, as another path or an undo may have taken its place. `goes-on`: an
   * edit was appended, and what is told was told before, but for what the edit itself says.
   */
  reset(structureAt: number, history: "anew" | "goes-on"): void;
  item(item: Item): void;
  shown(block: Block, entry: EntryId, instead?: ShownInstead): void;
  hidden(block: Block, entry: EntryId): void;
  /** A result that is shown is left out by the server, as of this place on the path: it costs nothing from there on. */
  withheld?(block: Block, since: number): void;
  /** It is going to be hidden, and was left out until now. */
  released?(block: Block): void;
}

/** A result that an edit shows by another text, and where on the path that was decided. */
export interface ShownInstead {
  readonly of: Block;
  readonly since: number;
}

/** One view, told to two. */
export const bothWatches = (one: ViewWatch, other: ViewWatch): ViewWatch => ({
  reset: (structureAt, history) => {
    one.reset(structureAt, history);
    other.reset(structureAt, history);
  },
  item: (item) => {
    one.item(item);
    other.item(item);
  },
  shown: (block, entry, instead) => {
    one.shown(block, entry, instead);
    other.shown(block, entry, instead);
  },
  hidden: (block, entry) => {
    one.hidden(block, entry);
    other.hidden(block, entry);
  },
  withheld: (block, since) => {
    one.withheld?.(block, since);
    other.withheld?.(block, since);
  },
  released: (block) => {
    one.released?.(block);
    other.released?.(block);
  },
});
