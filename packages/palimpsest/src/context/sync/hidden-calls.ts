import type { Block } from "../../schema/block.ts";
import type { Entry } from "../../schema/entry.ts";

/** Calls of tools that the caller leaves out of its lists, and their results. */
export class HiddenCalls {
  readonly #tools: ReadonlySet<string>;
  readonly #ids = new Set<string>();

  constructor(tools: ReadonlySet<string>, entries: Iterable<Entry>) {
    this.#tools = tools;
    if (tools.size === 0) return;
    for (const entry of entries) if (entry.kind === "assistant") for (const block of entry.blocks) this.holds(block);
  }

  /** Is the block such a call, or the result of one that was seen before? */
  holds(block: Block): boolean {
    if (block.type === "tool_result") return this.#ids.has(block.tool_use_id);
    if (block.type !== "tool_use" || !this.#tools.has(block.name)) return false;
    this.#ids.add(block.id);
    return true;
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }
}
