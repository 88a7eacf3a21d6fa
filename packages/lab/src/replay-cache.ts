import { type Lifetime, millisByLifetime } from "palimpsest/internal/cache/lifetime";
import { type UsageSplit, splitUsage } from "palimpsest/internal/cache/usage-split";
import type { Millis } from "palimpsest/internal/schema/brand";
import { PromptCache } from "palimpsest/internal/cache/prompt-cache";
import type { Prompt, PromptBlock } from "palimpsest/internal/cache/prompt";
import { createHash } from "node:crypto";
import type { Breakpoint } from "palimpsest/internal/cache/breakpoint";
import type { Block, Message } from "palimpsest/internal/schema/block";

/** The prompt cache of a replay. */
export interface ReplayCache {
  /** Returns what a request is charged for, and updates the cache. */
  send(prompt: Prompt, at: Millis): UsageSplit;
  /** The same without updating the cache. */
  peek(prompt: Prompt, at: Millis): UsageSplit;
  /** Another session sends this prompt at its own expense. */
  share(prompt: Prompt, at: Millis): void;
}

/** Like the providers' caches: a request reads what an earlier request wrote at a mark, during its lifetime. */
export function breakpointCache(minimumTokens: number): ReplayCache {
  const cache = new PromptCache();
  const send = (prompt: Prompt, at: Millis): UsageSplit => {
    const plan = cache.look({ prompt, at, minimumTokens });
    cache.commit(plan);
    return plan.usage;
  };
  return {
    send,
    peek: (prompt, at) => cache.look({ prompt, at, minimumTokens }).usage,
    share: (prompt, at) => void send(prompt, at),
  };
}

/**
 * Like the formulas: a request reads whatever it shares with the previous request, regardless of marks, and writes the
 * rest. The request's last mark decides the lifetime.
 */
export function prefixCache(): ReplayCache {
  let last: { readonly prompt: Prompt; readonly until: number } | undefined;
  const peek = (prompt: Prompt, at: Millis): UsageSplit => {
    const readTokens = last === undefined || at >= last.until ? 0 : countSharedTokens(last.prompt, prompt);
    const written = [{ tokensUpTo: prompt.tokens, lifetime: promptLifetime(prompt) }];
    return splitUsage({ promptTokens: prompt.tokens, readTokens, written });
  };
  const remember = (prompt: Prompt, at: Millis): void => {
    last = { prompt, until: at + millisByLifetime[promptLifetime(prompt)] };
  };
  return {
    peek,
    send(prompt, at) {
      const usage = peek(prompt, at);
      remember(prompt, at);
      return usage;
    },
    share(prompt, at) {
      if (last === undefined || at >= last.until) remember(prompt, at);
    },
  };
}

const promptLifetime = ({ blocks }: Prompt): Lifetime =>
  blocks.findLast(({ breakpoint }) => breakpoint !== undefined)?.breakpoint ?? "5m";

function countSharedTokens(a: Prompt, b: Prompt): number {
  // A chain identifies everything before it, so the shared prefix ends at the last equal chain.
  let low = 0;
  let high = Math.min(a.blocks.length, b.blocks.length);
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (a.blocks[middle - 1]?.chain === b.blocks[middle - 1]?.chain) low = middle;
    else high = middle - 1;
  }
  return a.blocks[low - 1]?.tokensUpTo ?? 0;
}

/** Numbers blocks by their content. All runs over one recording share it, so that each block is hashed once. */
export class BlockIds {
  readonly #idByBlock = new WeakMap<Block, number>();
  readonly #idByHash = new Map<string, number>();
  readonly #chainByStep = new Map<string, number>();

  of(block: Block): number {
    const cached = this.#idByBlock.get(block);
    if (cached !== undefined) return cached;
    const hash = createHash("sha1").update(JSON.stringify(block)).digest("base64");
    const id = this.#idByHash.get(hash) ?? this.#idByHash.size + 1;
    this.#idByHash.set(hash, id);
    this.#idByBlock.set(block, id);
    return id;
  }

  /** Identifies everything up to a block: the same blocks by the same roles have the same chain in every run. */
  chain(step: string): string {
    const chain = this.#chainByStep.get(step) ?? this.#chainByStep.size + 1;
    this.#chainByStep.set(step, chain);
    return String(chain);
  }
}

interface MeterOptions {
  readonly headerTokens: number;
  /** The beginning of the header that is a block of its own, because other sessions share it. */
  readonly sharedTokens?: number;
  readonly tokensOf: (block: Block) => number;
  readonly ids: BlockIds;
}

interface MessagePart {
  readonly message: Message;
  /** The index of its first block in the request. */
  readonly start: number;
}

/**
 * Turns requests into prompts for the cache, with the recording's token counts. The part that equals the previous request
 * costs only one comparison per message.
 */
export class Meter {
  readonly #options: MeterOptions;
  readonly #header: readonly PromptBlock[];
  #parts: MessagePart[] = [];
  #blocks: PromptBlock[];

  constructor(options: MeterOptions) {
    this.#options = options;
    this.#header = headerBlocks(options);
    this.#blocks = [...this.#header];
  }

  prompt(messages: readonly Message[], breakpoints: readonly Breakpoint[]): Prompt {
    this.#update(messages);
    const blocks = [...this.#blocks];
    for (const { place, lifetime } of breakpoints) {
      const at =
        place.part === "messages" ? (this.#parts[place.message]?.start ?? 0) + place.at : this.#header.length - 1;
      const block = blocks[at];
      if (block !== undefined) blocks[at] = { ...block, breakpoint: lifetime };
    }
    return toPrompt(blocks);
  }

  /** A request of another session that holds only the shared part of the header. */
  sharedPrompt(lifetime: Lifetime): Prompt {
    return toPrompt(this.#header.slice(0, 1).map((block) => ({ ...block, breakpoint: lifetime })));
  }

  /** Identifies everything up to the end of this message in the newest prompt. */
  chainAt(message: number): string {
    const end = this.#parts[message + 1]?.start ?? this.#blocks.length;
    return this.#blocks[end - 1]?.chain ?? "";
  }

  #update(messages: readonly Message[]): void {
    let shared = 0;
    while (shared < this.#parts.length && this.#parts[shared]?.message === messages[shared]) shared += 1;
    const from = this.#parts[shared]?.start ?? this.#blocks.length;
    this.#parts.length = shared;
    this.#blocks.length = from;
    for (let at = shared; at < messages.length; at += 1) {
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

const toPrompt = (blocks: readonly PromptBlock[]): Prompt => ({
  blocks,
  tokens: blocks.at(-1)?.tokensUpTo ?? 0,
  boundChain: "",
  salts: { tools: "", system: "", messages: "" },
});

/** Their ids are none that `BlockIds` gives. */
function headerBlocks({ headerTokens, sharedTokens = 0 }: MeterOptions): readonly PromptBlock[] {
  const whole = { level: "system", path: "system.0", type: "text", hash: "0", chain: "0" } as const;
  if (sharedTokens === 0 || sharedTokens >= headerTokens)
    return [{ ...whole, tokens: headerTokens, tokensUpTo: headerTokens }];
  return [
    { ...whole, hash: "-1", chain: "-1", tokens: sharedTokens, tokensUpTo: sharedTokens },
    { ...whole, path: "system.1", tokens: headerTokens - sharedTokens, tokensUpTo: headerTokens },
  ];
}
