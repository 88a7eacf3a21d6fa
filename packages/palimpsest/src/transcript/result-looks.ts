import type { Block, ToolResultBlock } from "../schema/block.ts";
import { resultBlock, type ResultDisplay } from "./to-wire-block.ts";

/**
 * Caches results as they are sent, each until its look changes: a view that is rebuilt shows the same block objects as
 * before, so that caches keyed by block stay valid.
 */
export class ResultLooks {
  readonly #lookByResult = new WeakMap<
    ToolResultBlock,
    ResultDisplay & { readonly id: string; readonly block: Block }
  >();

  /** `id`: the id under which the result is sent. */
  show(
    result: ToolResultBlock,
    { id, toolName, shown }: ResultDisplay & { readonly id: ToolResultBlock["tool_use_id"] },
  ): Block {
    const known = this.#lookByResult.get(result);
    if (known?.shown === shown && known?.id === id && known.toolName === toolName) return known.block;
    const sent = id === result.tool_use_id ? result : { ...result, tool_use_id: id };
    const block = resultBlock(sent, { toolName, shown });
    // Most results are sent as they are logged: then there is no new block to cache.
    if (block !== result) this.#lookByResult.set(result, { id, toolName, shown, block });
    return block;
  }
}
