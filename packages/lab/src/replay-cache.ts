import { millisByLifetime } from "palimpsest/internal/cache/lifetime";
import { type UsageSplit, splitUsage } from "palimpsest/internal/cache/usage-split";
import type { Millis } from "palimpsest/internal/schema/brand";
import { PromptCache } from "palimpsest/internal/cache/prompt-cache";
import type { Lifetime, Prompt, PromptBlock } from "palimpsest/internal/cache/prompt";
import { createHash } from "node:crypto";
import type { Breakpoint } from "palimpsest/internal/cache/breakpoint";
import type { Block, Message } from "palimpsest/internal/schema/block";

/** The cache that a replay's requests meet. */
export interface ReplayCache {
  /** What a request is charged for, and what it leaves behind. */
  send(prompt: Prompt, at: Millis): UsageSplit;
  /** The same, leaving nothing behind. */
  peek(prompt: Prompt, at: Millis): UsageSplit;
}

/** As providers have it: read is what an earlier request wrote at a mark, as long as it lives. */
export function breakpointCache(minimumTokens: number): ReplayCache {
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
    const readTokens = last === undefined || at >= last.until ? 0 : countSharedTokens(last.prompt, prompt);
    const written = [{ tokensUpTo: prompt.tokens, lifetime: promptLifetime(prompt) }];
    return splitUsage({ promptTokens: prompt.tokens, readTokens, written });
  };
  return {
    peek,
    send(prompt, at) {
      const usage = peek(prompt, at);
      last = { prompt, until: at + millisByLifetime[promptLifetime(prompt)] };
      return usage;
    },
  };
}

const promptLifetime = ({ blocks }: Prompt): Lifetime =>
  blocks.findLast(({ breakpoint }) => breakpoint !== undefined)?.breakpoint ?? "5m";

function countSharedTokens(one: Prompt, other: Prompt): number {
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

/** Numbers for blocks by what they say, shared by all runs over one recording: each block is read once. */
export class BlockIds {
  readonly #idByBlock = new WeakMap<Block, number>();
  readonly #idByHash = new Map<string, number>();
  readonly #chainByStep = new Map<string, number>();

  of(block: Block): number {
    const known = this.#idByBlock.get(block);
    if (known !== undefined) return known;
    const hash = createHash("sha1").update(JSON.stringify(block)).digest("base64");
    const id = this.#idByHash.get(hash) ?? this.#idByHash.size + 1;
    this.#idByHash.set(hash, id);
    this.#idByBlock.set(block, id);
    return id;
  }

  /** A name for everything up to a block: the same for the same blocks said by the same roles, in whichever run. */
  chain(step: string): string {
    const known = this.#chainByStep.get(step) ?? this.#chainByStep.size + 1;
    this.#chainByStep.set(step, known);
    return String(known);
  }
}

interface MeterOptions {
  readonly headerTokens: number;
  readonly tokensOf: (block: Block) => number;
  readonly ids: BlockIds;
}

interface MessagePart {
  readonly message: Message;
  /** Index of its first block among all. */
  readonly start: number;
}

/**
 * Requests as the cache sees them, with the recording's own token counts. What is the same as in the request before costs
 * a comparison for each message.
 */
export class Meter {
  readonly #options: MeterOptions;
  #parts: MessagePart[] = [];
  #blocks: PromptBlock[];

  constructor(options: MeterOptions) {
    this.#options = options;
    this.#blocks = [
      {
        level: "system",
        path: "system.0",
        type: "text",
        hash: "0",
        chain: "0",
        tokens: options.headerTokens,
        tokensUpTo: options.headerTokens,
      },
    ];
  }

  prompt(messages: readonly Message[], breakpoints: readonly Breakpoint[]): Prompt {
    this.#follow(messages);
    const blocks = [...this.#blocks];
    for (const { place, lifetime } of breakpoints) {
      const at = place.part === "messages" ? (this.#parts[place.message]?.start ?? 0) + place.at : 0;
      const block = blocks[at];
      if (block !== undefined) blocks[at] = { ...block, breakpoint: lifetime };
    }
    return {
      blocks,
      tokens: blocks.at(-1)?.tokensUpTo ?? 0,
      boundChain: "",
      salts: { tools: "", system: "", messages: "" },
    };
  }

  /** A name for everything up to the end of this message, of the newest prompt. */
  chainAt(message: number): string {
    const end = this.#parts[message + 1]?.start ?? this.#blocks.length;
    return this.#blocks[end - 1]?.chain ?? "";
  }

  #follow(messages: readonly Message[]): void {
    let same = 0;
    while (same < this.#parts.length && this.#parts[same]?.message === messages[same]) same += 1;
    const from = this.#parts[same]?.start ?? this.#blocks.length;
    this.#parts.length = same;
    this.#blocks.length = from;
    for (let at = same; at < messages.length; at += 1) {
      const message = messages[at];
      if (message !== undefined) this.#add(message, at);
    }
  }

  #add(message: Message, at: number): void {
    this.#parts.push({ message, start: this.#blocks.length });
    for (const [index, block] of message.content.entries()) {
      const before = this.#blocks.at(-1);
      const tokens = this.#options.tokensOf(block);
      const hash = String(this.#options.ids.of(block));
      this.#blocks.push({
        level: "messages",
        path: `messages.${at}.content.${index}`,
        type: block.type,
        hash,
        chain: this.#options.ids.chain(`${before?.chain ?? ""} ${message.role[0] ?? ""}${hash}`),
        tokens,
        tokensUpTo: (before?.tokensUpTo ?? 0) + tokens,
      });
    }
  }
}
