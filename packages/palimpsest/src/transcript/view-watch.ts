import type { Block, ToolResultBlock } from "../schema/block.ts";
import type { EntryId, ToolUseId } from "../schema/brand.ts";
import type { Item } from "./item.ts";

/**
 * Notified of every block that enters or leaves the view, so that counting costs work in proportion to the change.
 * Order: `reset`, then for each item `item` and its blocks; later changes as they happen.
 */
export interface ViewWatch {
  /**
   * The view is reported again from its beginning. `structureAt`: position on the path at which items were last moved or
   * removed. `anew`: earlier reports are void, because the path may have changed or an undo may have come. `goes-on`: an
   * edit was appended, and everything was reported before except the edit's own content.
   */
  reset(structureAt: number, history: "anew" | "goes-on"): void;
  item(item: Item): void;
  shown(block: Block, entry: EntryId, instead?: ResultReplacement): void;
  hidden(block: Block, entry: EntryId): void;
  /** The server leaves out a shown result from this position on the path on: from there on it costs nothing. */
  withheld?(block: Block, since: number): void;
  /** A withheld result is about to be hidden. */
  released?(block: Block): void;
}

/** The result that an edit replaced by another text, and the position of that edit on the path. */
export interface ResultReplacement {
  readonly of: Block;
  readonly since: number;
}

/** Reports first view to two watches. */
export const combineWatches = (first: ViewWatch, second: ViewWatch): ViewWatch => ({
  reset: (structureAt, history) => {
    first.reset(structureAt, history);
    second.reset(structureAt, history);
  },
  item: (item) => {
    first.item(item);
    second.item(item);
  },
  shown: (block, entry, instead) => {
    first.shown(block, entry, instead);
    second.shown(block, entry, instead);
  },
  hidden: (block, entry) => {
    first.hidden(block, entry);
    second.hidden(block, entry);
  },
  withheld: (block, since) => {
    first.withheld?.(block, since);
    second.withheld?.(block, since);
  },
  released: (block) => {
    first.released?.(block);
    second.released?.(block);
  },
});

interface WithheldInput {
  /** Position on the path at which each result began to be withheld, by the log's ids. Live. */
  readonly withheldAt: ReadonlyMap<ToolUseId, number>;
  /** Converts the ids in blocks, which are those sent to the provider. */
  readonly loggedId: (sent: ToolUseId) => ToolUseId;
}

/**
 * Also tells a watch which results the server withholds: they are in the messages, but the model does not see them. It
 * does so when withholding begins, and again for each result when the view is reported again.
 */
export class WithheldWatch implements ViewWatch {
  readonly #watch: ViewWatch;
  readonly #withheldAt: ReadonlyMap<ToolUseId, number>;
  readonly #loggedId: (sent: ToolUseId) => ToolUseId;
  readonly #resultById = new Map<ToolUseId, ToolResultBlock>();
  readonly #reported = new Set<ToolUseId>();

  constructor(watch: ViewWatch, { withheldAt, loggedId }: WithheldInput) {
    this.#watch = watch;
    this.#withheldAt = withheldAt;
    this.#loggedId = loggedId;
  }

  /** For results that are already shown. */
  onWithheld(toolUses: readonly ToolUseId[]): void {
    for (const toolUse of toolUses) {
      const block = this.#resultById.get(toolUse);
      if (block !== undefined) this.#reportWithheld(block);
    }
  }

  reset(...args: Parameters<ViewWatch["reset"]>): void {
    this.#resultById.clear();
    this.#reported.clear();
    this.#watch.reset(...args);
  }

  item(item: Item): void {
    this.#watch.item(item);
  }

  shown(block: Block, entry: EntryId, instead?: ResultReplacement): void {
    this.#watch.shown(block, entry, instead);
    if (block.type !== "tool_result") return;
    this.#resultById.set(this.#loggedId(block.tool_use_id), block);
    this.#reportWithheld(block);
  }

  hidden(block: Block, entry: EntryId): void {
    if (block.type === "tool_result") {
      const toolUse = this.#loggedId(block.tool_use_id);
      this.#resultById.delete(toolUse);
      if (this.#reported.delete(toolUse)) this.#watch.released?.(block);
    }
    this.#watch.hidden(block, entry);
  }

  #reportWithheld(block: ToolResultBlock): void {
    const toolUse = this.#loggedId(block.tool_use_id);
    const since = this.#withheldAt.get(toolUse);
    if (since === undefined || this.#reported.has(toolUse)) return;
    this.#reported.add(toolUse);
    this.#watch.withheld?.(block, since);
  }
}
