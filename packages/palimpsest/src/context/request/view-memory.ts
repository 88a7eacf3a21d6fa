import type { Block } from "../../schema/block.ts";
import type { EntryId, MessageId, ToolUseId } from "../../schema/brand.ts";
import { pressureAttachmentType } from "../../transcript/attachment-text.ts";
import { estimateBlock } from "../../tokens/estimate-block.ts";
import { type Item, withPairs } from "../../transcript/item.ts";

/** Parts of a projection. The same list object only ever grows. */
interface ViewItems {
  readonly items: readonly Item[];
  readonly pins: ReadonlySet<EntryId>;
}

/**
 * Answers what plans need to know about a view before every request. While the list of items only grows, an answer costs
 * what was appended since the previous one. A boundary, an undo, another branch or an edit that removes entries makes a
 * new list, which is read once.
 */
export class ViewMemory {
  readonly #count: (block: Block) => number;
  readonly #pinned: PinnedItems;
  #items: readonly Item[] = [];
  #seen = 0;
  #summary: Item | undefined;
  #pressure: Item | undefined;
  #throughTokens = 0;

  constructor(count: (block: Block) => number = estimateBlock) {
    this.#count = count;
    this.#pinned = new PinnedItems(count);
  }

  /** The newest summary that the view shows. */
  summaryIn(items: readonly Item[]): Item | undefined {
    this.#follow(items);
    return this.#summary;
  }

  /** The newest reminder of how full the context is. */
  pressureIn(items: readonly Item[]): Item | undefined {
    this.#follow(items);
    return this.#pressure;
  }

  /** Tokens that the newest boundary left unchanged: items older than the summary, wherever they are now. */
  throughTokens(items: readonly Item[]): number {
    this.#follow(items);
    return this.#throughTokens;
  }

  /** Tokens of everything that pins carry through a boundary. */
  pinnedTokens(view: ViewItems): number {
    this.#pinned.follow(view);
    return this.#pinned.tokens;
  }

  /** Results in pinned entries, without the entries that belong to them. */
  pinnedResults(view: ViewItems): readonly ToolUseId[] {
    this.#pinned.follow(view);
    return this.#pinned.results;
  }

  #follow(items: readonly Item[]): void {
    if (items !== this.#items) {
      this.#items = items;
      this.#seen = 0;
      this.#summary = undefined;
      this.#pressure = undefined;
      this.#throughTokens = 0;
    }
    for (; this.#seen < items.length; this.#seen += 1) this.#addItem(items[this.#seen]);
  }

  #addItem(item: Item | undefined): void {
    if (item === undefined) return;
    if (item.attachment === pressureAttachmentType) this.#pressure = item;
    if (item.summary === true) {
      this.#summary = item;
      const before = this.#items.slice(0, this.#seen);
      this.#throughTokens = countItemTokens(
        before.filter(({ at }) => at < item.at),
        this.#count,
      );
    } else if (this.#summary !== undefined && item.at < this.#summary.at)
      this.#throughTokens += countItemTokens([item], this.#count);
  }
}

/** Recounted only if a pin changes, or if a new item belongs to something pinned. */
class PinnedItems {
  readonly #countBlock: (block: Block) => number;
  tokens = 0;
  results: readonly ToolUseId[] = [];
  #items: readonly Item[] = [];
  #seen = 0;
  #pins: ReadonlySet<EntryId> = new Set();
  readonly #replies = new Set<MessageId>();
  readonly #toolUses = new Set<ToolUseId>();

  constructor(count: (block: Block) => number) {
    this.#countBlock = count;
  }

  follow({ items, pins }: ViewItems): void {
    const hasChanged =
      !isSame(pins, this.#pins) || (pins.size > 0 && (items !== this.#items || this.#hasRelated(items)));
    if (hasChanged) this.#count({ items, pins });
    this.#seen = items.length;
  }

  #hasRelated(items: readonly Item[]): boolean {
    for (let at = this.#seen; at < items.length; at += 1) {
      const item = items[at];
      if (item === undefined) continue;
      if (this.#pins.has(item.entry) || (item.messageId !== undefined && this.#replies.has(item.messageId)))
        return true;
      if (toolUsesIn(item).some((toolUse) => this.#toolUses.has(toolUse))) return true;
    }
    return false;
  }

  #count({ items, pins }: ViewItems): void {
    this.#items = items;
    this.#pins = new Set(pins);
    this.#replies.clear();
    this.#toolUses.clear();
    const pinned = items.filter(({ entry }) => pins.has(entry));
    this.results = pinned.flatMap(resultsIn);
    const carriedIds = withPairs(items, new Set(pinned.map(({ entry }) => entry)), "both");
    const carried = items.filter(({ entry }) => carriedIds.has(entry));
    for (const item of carried) {
      if (item.messageId !== undefined) this.#replies.add(item.messageId);
      for (const toolUse of toolUsesIn(item)) this.#toolUses.add(toolUse);
    }
    this.tokens = countItemTokens(carried, this.#countBlock);
  }
}

const countItemTokens = (items: readonly Item[], count: (block: Block) => number): number =>
  items.reduce((sum, { blocks }) => blocks.reduce((itemSum, block) => itemSum + count(block), sum), 0);

const isSame = (one: ReadonlySet<EntryId>, other: ReadonlySet<EntryId>): boolean =>
  one.size === other.size && one.isSubsetOf(other);

const resultsIn = ({ blocks }: Item): readonly ToolUseId[] =>
  blocks.flatMap((block) => (block.type === "tool_result" ? [block.tool_use_id] : []));

const toolUsesIn = ({ blocks }: Item): readonly ToolUseId[] =>
  blocks.flatMap((block) =>
    block.type === "tool_use" ? [block.id] : block.type === "tool_result" ? [block.tool_use_id] : [],
  );
