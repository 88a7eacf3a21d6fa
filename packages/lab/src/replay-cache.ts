import { millisByLifetime } from "palimpsest/internal/cache/lifetime";
import type { UsageSplit } from "palimpsest/internal/cache/usage-split";
import type { Millis } from "palimpsest/internal/schema/brand";
import { PromptCache } from "palimpsest/internal/cache/prompt-cache";
import { splitUsage } from "palimpsest/internal/cache/split-usage";
import type { Lifetime, Prompt } from "palimpsest/internal/cache/prompt";

/** The cache that a replay's requests meet. */
export interface ReplayCache {
  /** What a request is charged for, and what it leaves behind. */
  send(prompt: Prompt, at: Millis): UsageSplit;
  /** The same, leaving nothing behind. */
  peek(prompt: Prompt, at: Millis): UsageSplit;
}

/** As providers have it: read is what an earlier request wrote at a mark, as long as it lives. */
export function markedCache(minimumTokens: number): ReplayCache {
  const cache = new PromptCache();
  return {
    send(prompt, at) {
      const plan = cache.look({ prompt, at, minimumTokens });
      cache.commit(plan);
      return plan.usage;
    },
    peek: (prompt, at) => cache.look({ prompt, at, minimumTokens }).usage,
  };
}

/**
 * As formulas have it: whatever a request shares with the one before it is read, wherever it was marked, and the rest is
 * written. How long that lives says the request's newest mark.
 */
export function prefixCache(): ReplayCache {
  let last: { readonly prompt: Prompt; readonly until: number } | undefined;
  const peek = (prompt: Prompt, at: Millis): UsageSplit => {
    const readTokens = last === undefined || at >= last.until ? 0 : sharedTokens(last.prompt, prompt);
    const written = [{ tokensUpTo: prompt.tokens, lifetime: lifetimeOf(prompt) }];
    return splitUsage({ promptTokens: prompt.tokens, readTokens, written });
  };
  return {
    peek,
    send(prompt, at) {
      const usage = peek(prompt, at);
      last = { prompt, until: at + millisByLifetime[lifetimeOf(prompt)] };
      return usage;
    },
  };
}

const lifetimeOf = ({ blocks }: Prompt): Lifetime =>
  blocks.findLast(({ breakpoint }) => breakpoint !== undefined)?.breakpoint ?? "5m";

function sharedTokens(one: Prompt, other: Prompt): number {
  // Chains are hashes of everything before: the last equal one ends what is shared.
  let low = 0;
  let high = Math.min(one.blocks.length, other.blocks.length);
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (one.blocks[middle - 1]?.chain === other.blocks[middle - 1]?.chain) low = middle;
    else high = middle - 1;
  }
  return one.blocks[low - 1]?.tokensUpTo ?? 0;
}
