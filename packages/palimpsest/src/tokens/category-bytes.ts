import type { Block } from "../schema/block.ts";
import type { ToolUseId } from "../schema/brand.ts";
import type { Item } from "../transcript/item.ts";
import { addBytes, type ByteCounts, noBytes } from "./byte-counts.ts";

/**
 * Where the tokens of a view come from. Some names have a kind after a dot: `results.Read`, `attachments.file`. The
 * fixed part (system prompt, tools, what a client sends and never logs) is in no block; the report adds it.
 */
export interface CategoryCount {
  readonly bytes: ByteCounts;
  blocks: number;
}

/** Bytes by category, kept up to date block by block. */
export class CategoryBytes {
  readonly counts = new Map<string, CategoryCount>();
  readonly #categoryByBlock = new WeakMap<Block, string>();
  readonly #toolByCall = new Map<ToolUseId, string>();

  reset(): void {
    this.counts.clear();
    this.#toolByCall.clear();
  }

  add(block: Block, bytes: ByteCounts, item: Item | undefined): void {
    if (block.type === "tool_use") this.#toolByCall.set(block.id, block.name);
    const category = this.#categorize(block, item);
    this.#categoryByBlock.set(block, category);
    this.#change(category, bytes, 1);
  }

  remove(block: Block, bytes: ByteCounts): void {
    this.#change(this.#categoryByBlock.get(block) ?? "other", bytes, -1);
  }

  #change(category: string, bytes: ByteCounts, times: 1 | -1): void {
    const known = this.counts.get(category) ?? { bytes: noBytes(), blocks: 0 };
    addBytes(known.bytes, bytes, times);
    known.blocks += times;
    if (known.blocks === 0) this.counts.delete(category);
    else this.counts.set(category, known);
  }

  #categorize(block: Block, item: Item | undefined): string {
    switch (block.type) {
      case "tool_use":
        return `requests.${block.name}`;
      case "tool_result":
        return `results.${this.#toolByCall.get(block.tool_use_id) ?? "unknown"}`;
      case "thinking":
      case "redacted_thinking":
        return "thinking";
      case "text":
        return textCategory(block.text, item);
      default:
        return "other";
    }
  }
}

const localCommand = /<local-command-(?:stdout|stderr)>/;

function textCategory(text: string, item: Item | undefined): string {
  if (item?.role === "assistant") return "assistant";
  if (item?.attachment !== undefined) return `attachments.${item.attachment}`;
  if (item?.summary === true) return "summary";
  return localCommand.test(text) ? "localCommandOutput" : "human";
}
