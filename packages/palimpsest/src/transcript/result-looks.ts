import type { Block, ToolResultBlock } from "../schema/block.ts";
import { resultBlock, type ResultDisplay } from "./to-wire-block.ts";

interface Looked extends ResultDisplay {
  readonly id: string;
  readonly block: Block;
}

/**
 * Results as they are sent, each made once as long as it looks the same: a view that is told anew shows the very blocks that
 * it showed before, and whatever is known of them stays known.
 */
export class ResultLooks {
  readonly #lookedByResult = new WeakMap<ToolResultBlock, Looked>();

  /** `id`: under which it is sent. */
  show(
    result: ToolResultBlock,
    { id, toolName, shown }: ResultDisplay & { readonly id: ToolResultBlock["tool_use_id"] },
  ): Block {
    const known = this.#lookedByResult.get(result);
    if (known?.shown === shown && known?.id === id && known.toolName === toolName) return known.block;
    const sent = id === result.tool_use_id ? result : { ...result, tool_use_id: id };
    const block = resultBlock(sent, { toolName, shown });
    // Most are sent as they are logged: nothing was made then.
    if (block !== result) this.#lookedByResult.set(result, { id, toolName, shown, block });
    return block;
  }
}
