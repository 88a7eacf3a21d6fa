import { loopStart } from "./rounds.ts";
import type { EntryId, ToolUseId } from "../../schema/brand.ts";
import { estimateBlock } from "../../tokens/estimate.ts";
import type { Item } from "../../transcript/item.ts";
import { isThinking } from "../../transcript/sent.ts";

export interface ThinkingBehind {
  /** Of all of it: none is valid any more where a model binds it to its prefix. */
  readonly tokens: number;
  /**
   * Items that are shown without it from now on. The tool loop under way is not among them: its calls have to come with
   * their thinking, and the server leaves out what does not fit.
   */
  readonly drops: { readonly from: EntryId; readonly to: EntryId } | undefined;
}

/** The thinking that was made behind the first of these results. */
export function thinkingBehind(items: readonly Item[], cleared: ReadonlySet<ToolUseId>): ThinkingBehind {
  const first = items.findIndex(({ blocks }) =>
    blocks.some((block) => block.type === "tool_result" && cleared.has(block.tool_use_id)),
  );
  if (first === -1) return { tokens: 0, drops: undefined };
  const holding = items.flatMap((item, at) =>
    at > first && item.thinking === "kept" && holds(item) ? [{ item, at }] : [],
  );
  const tokens = holding.reduce((sum, { item }) => sum + thinkingTokens(item), 0);
  const loopFrom = loopStart(items);
  const closed = holding.filter(({ at }) => at < loopFrom);
  const [from, to] = [closed[0]?.item.entry, closed.at(-1)?.item.entry];
  return { tokens, drops: from === undefined || to === undefined ? undefined : { from, to } };
}

const holds = ({ blocks }: Item): boolean => blocks.some((block) => isThinking(block));

const thinkingTokens = ({ blocks }: Item): number =>
  blocks.reduce((sum, block) => sum + (isThinking(block) ? estimateBlock(block) : 0), 0);
