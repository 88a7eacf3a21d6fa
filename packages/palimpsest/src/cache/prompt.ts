import type { WireBlock } from "../schema/wire/wire-block.ts";
import type { CacheControl } from "../schema/wire/cache-control.ts";

/**
 * A request as the cache sees it: one list of blocks in the order tools → system → messages, each with the hash of
 * everything up to and including it. Markers (`cache_control`) are no part of any hash.
 */
export interface Prompt {
  readonly blocks: readonly PromptBlock[];
  /** Tokens of all blocks, but for those that are withheld. */
  readonly tokens: number;
  /** Hash of everything that was sent, shown or not: what new thinking is bound to. */
  readonly boundChain: string;
  /** What besides the blocks decides whether an entry may be read, by the level at which it begins to matter. */
  readonly salts: Readonly<Record<Level, string>>;
  /** Absent where nothing is. */
  readonly withheld?: Withheld;
}

/**
 * Results that are left out where they lie in what is read from the cache. The blocks and their hashes stay those of
 * everything that was sent, so that a prefix is the same whatever is withheld in it.
 */
export interface Withheld {
  readonly resultById: ReadonlyMap<string, WithheldResult>;
  /** Tokens by which the prompt's own are fewer already. */
  readonly tokens: number;
}

export interface WithheldResult {
  /** Index in the prompt's blocks. */
  readonly position: number;
  readonly tokens: number;
  /** Of everything that was sent, up to and including it. */
  readonly tokensUpTo: number;
}

export const wholeTokens = ({ tokens, withheld }: Prompt): number => tokens + (withheld?.tokens ?? 0);

export type Level = "tools" | "system" | "messages";

export interface PromptBlock {
  readonly level: Level;
  /** `tools.0`, `system.1`, `messages.3.content.0` */
  readonly path: string;
  readonly type: string;
  /** Of the block alone. */
  readonly hash: string;
  /** Of all blocks up to and including this one. */
  readonly chain: string;
  /** Of the block alone. */
  readonly tokens: number;
  /** Of all blocks up to and including this one. */
  readonly tokensUpTo: number;
  /** What the model is shown, where that is not what was sent. */
  readonly shown?: WireBlock;
  /** A breakpoint, and how long what is written there lives. */
  readonly breakpoint?: Lifetime;
}

export type Lifetime = NonNullable<CacheControl["ttl"]>;
