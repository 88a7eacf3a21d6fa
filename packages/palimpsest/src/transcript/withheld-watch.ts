import type { Block, ToolResultBlock } from "../schema/block.ts";
import type { EntryId, ToolUseId } from "../schema/brand.ts";
import type { Item } from "./item.ts";
import type { ShownInstead, ViewWatch } from "./watch.ts";

export interface Withheld {
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

  constructor(watch: ViewWatch, { withheldAt, loggedId }: Withheld) {
    this.#watch = watch;
    this.#withheldAt = withheldAt;
    this.#loggedId = loggedId;
  }

  /** Of results that are shown already. */
  withheldCame(toolUses: readonly ToolUseId[]): void {
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
