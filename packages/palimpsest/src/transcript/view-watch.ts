import type { Block, ToolResultBlock } from "../schema/block.ts";
import type { EntryId, ToolUseId } from "../schema/brand.ts";
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
  shown(block: Block, entry: EntryId, instead?: ResultReplacement): void;
  hidden(block: Block, entry: EntryId): void;
  /** A result that is shown is left out by the server, as of this place on the path: it costs nothing from there on. */
  withheld?(block: Block, since: number): void;
  /** It is going to be hidden, and was left out until now. */
  released?(block: Block): void;
}

/** A result that an edit shows by another text, and where on the path that was decided. */
export interface ResultReplacement {
  readonly of: Block;
  readonly since: number;
}

/** One view, told to two. */
export const combineWatches = (one: ViewWatch, other: ViewWatch): ViewWatch => ({
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

interface WithheldInput {
  /** Where on the path each result began to be withheld, by the log's ids. Live. */
  readonly withheldAt: ReadonlyMap<ToolUseId, number>;
  /** Blocks are shown under the ids that they are sent under. */
  readonly loggedId: (sent: ToolUseId) => ToolUseId;
}

/**
 * Tells a watch, besides the view, which of its results the server withholds: they stand in the messages and
 * are shown to nobody. Told when that begins, and again with each result when the view is told anew.
 */
export class WithheldWatch implements ViewWatch {
  readonly #watch: ViewWatch;
  readonly #withheldAt: ReadonlyMap<ToolUseId, number>;
  readonly #loggedId: (sent: ToolUseId) => ToolUseId;
  readonly #resultById = new Map<ToolUseId, ToolResultBlock>();
  readonly #told = new Set<ToolUseId>();

  constructor(watch: ViewWatch, { withheldAt, loggedId }: WithheldInput) {
    this.#watch = watch;
    this.#withheldAt = withheldAt;
    this.#loggedId = loggedId;
  }

  /** Of results that are shown already. */
  onWithheld(toolUses: readonly ToolUseId[]): void {
    for (const toolUse of toolUses) {
      const block = this.#resultById.get(toolUse);
      if (block !== undefined) this.#tell(block);
    }
  }

  reset(...told: Parameters<ViewWatch["reset"]>): void {
    this.#resultById.clear();
    this.#told.clear();
    this.#watch.reset(...told);
  }

  item(item: Item): void {
    this.#watch.item(item);
  }

  shown(block: Block, entry: EntryId, instead?: ResultReplacement): void {
    this.#watch.shown(block, entry, instead);
    if (block.type !== "tool_result") return;
    this.#resultById.set(this.#loggedId(block.tool_use_id), block);
    this.#tell(block);
  }

  hidden(block: Block, entry: EntryId): void {
    if (block.type === "tool_result") {
      const toolUse = this.#loggedId(block.tool_use_id);
      this.#resultById.delete(toolUse);
      if (this.#told.delete(toolUse)) this.#watch.released?.(block);
    }
    this.#watch.hidden(block, entry);
  }

  #tell(block: ToolResultBlock): void {
    const toolUse = this.#loggedId(block.tool_use_id);
    const since = this.#withheldAt.get(toolUse);
    if (since === undefined || this.#told.has(toolUse)) return;
    this.#told.add(toolUse);
    this.#watch.withheld?.(block, since);
  }
}
