import type { Block, ToolResultBlock } from "../schema/block.ts";
import type { EntryId, ToolUseId } from "../schema/brand.ts";
import type { Item } from "./item.ts";
import type { ShownInstead, ViewWatch } from "./watch.ts";

export interface Deletions {
  /** Where on the path each deletion in force was made, by the log's ids. Live. */
  readonly deletedAt: ReadonlyMap<ToolUseId, number>;
  /** Blocks are shown under the ids that they are sent under. */
  readonly loggedId: (sent: ToolUseId) => ToolUseId;
}

/**
 * Tells a watch, besides the view, which of its results the provider's cache leaves out: they stand in the messages and
 * are shown to nobody. Told when a deletion comes, and again with each result when the view is told anew.
 */
export class DeletionWatch implements ViewWatch {
  readonly #watch: ViewWatch;
  readonly #deletedAt: ReadonlyMap<ToolUseId, number>;
  readonly #loggedId: (sent: ToolUseId) => ToolUseId;
  readonly #resultById = new Map<ToolUseId, ToolResultBlock>();
  readonly #told = new Set<ToolUseId>();

  constructor(watch: ViewWatch, { deletedAt, loggedId }: Deletions) {
    this.#watch = watch;
    this.#deletedAt = deletedAt;
    this.#loggedId = loggedId;
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
    this.#resultById.set(this.#loggedId(block.tool_use_id), block);
    this.#tell(block);
  }

  hidden(block: Block, entry: EntryId): void {
    if (block.type === "tool_result") {
      const toolUse = this.#loggedId(block.tool_use_id);
      this.#resultById.delete(toolUse);
      if (this.#told.delete(toolUse)) this.#watch.undeletedInCache?.(block);
    }
    this.#watch.hidden(block, entry);
  }

  #tell(block: ToolResultBlock): void {
    const toolUse = this.#loggedId(block.tool_use_id);
    const since = this.#deletedAt.get(toolUse);
    if (since === undefined || this.#told.has(toolUse)) return;
    this.#told.add(toolUse);
    this.#watch.deletedInCache?.(block, since);
  }
}
