import type { CacheControl } from "../schema/wire/block.ts";

/**
 * A request as the cache sees it: one list of blocks in the order tools → system → messages, each with the hash of
 * everything up to and including it. Markers (`cache_control`) are no part of any hash.
 */
export interface Prompt {
  readonly blocks: readonly PromptBlock[];
  /** Tokens of all blocks. */
  readonly tokens: number;
  /** What besides the blocks decides whether an entry may be read, by the level at which it begins to matter. */
  readonly salts: Readonly<Record<Level, string>>;
}

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
  /** A breakpoint, and how long what is written there lives. */
  readonly breakpoint?: Lifetime;
}

export type Lifetime = NonNullable<CacheControl["ttl"]>;
