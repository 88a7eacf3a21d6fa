import type { Block, ToolResultBlock } from "../schema/block.ts";
import type { EntryId, ToolUseId } from "../schema/brand.ts";
import type { Item } from "./item.ts";
import type { ShownInstead, ViewWatch } from "./watch.ts";

/**
 * Tells a watch, besides the view, which of its results the provider's cache leaves out: they stand in the messages and
 * are shown to nobody. Told when a deletion comes, and again with each result when the view is told anew.
 */
export class DeletionWatch implements ViewWatch {
  readonly #watch: ViewWatch;
  readonly #deletedAt: ReadonlyMap<ToolUseId, number>;
  readonly #resultById = new Map<ToolUseId, ToolResultBlock>();
  readonly #told = new Set<ToolUseId>();

  /** `deletedAt`: where on the path each deletion in force was made. Live. */
  constructor(watch: ViewWatch, deletedAt: ReadonlyMap<ToolUseId, number>) {
    this.#watch = watch;
    this.#deletedAt = deletedAt;
  }

  /** Of results that are shown already. */
  deletionsCame(toolUses: readonly ToolUseId[]): void {
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

  shown(block: Block, entry: EntryId, instead?: ShownInstead): void {
    this.#watch.shown(block, entry, instead);
    if (block.type !== "tool_result") return;
    this.#resultById.set(block.tool_use_id, block);
    this.#tell(block);
  }

  hidden(block: Block, entry: EntryId): void {
    if (block.type === "tool_result") {
      this.#resultById.delete(block.tool_use_id);
      if (this.#told.delete(block.tool_use_id)) this.#watch.undeletedInCache?.(block);
    }
    this.#watch.hidden(block, entry);
  }

  #tell(block: ToolResultBlock): void {
    const since = this.#deletedAt.get(block.tool_use_id);
    if (since === undefined || this.#told.has(block.tool_use_id)) return;
    this.#told.add(block.tool_use_id);
    this.#watch.deletedInCache?.(block, since);
  }
}
