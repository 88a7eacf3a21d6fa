import type { WireBlock } from "../schema/wire/wire-block.ts";
import type { Lifetime } from "./lifetime.ts";

/**
 * A request as the cache sees it: one list of blocks in the order tools → system → messages, each with the hash of
 * everything up to and including it. Markers (`cache_control`) are no part of any hash.
 */
export interface Prompt {
  readonly blocks: readonly PromptBlock[];
  /** Tokens of all blocks except those that are withheld. */
  readonly tokens: number;
  /** Hash of everything that was sent, shown or not. New thinking is bound to it. */
  readonly boundChain: string;
  /** What else decides whether an entry may be read, by the level at which it begins to matter. */
  readonly salts: Readonly<Record<Level, string>>;
  /** Absent if nothing is withheld. */
  readonly withheld?: Withheld;
}

/**
 * Results that are left out if they lie in what is read from the cache. Blocks and hashes stay those of everything that
 * was sent, so that a prefix is the same whatever is withheld in it.
 */
export interface Withheld {
  readonly resultById: ReadonlyMap<string, WithheldResult>;
  /** Tokens of the withheld results; `Prompt.tokens` does not include them. */
  readonly tokens: number;
}

export interface WithheldResult {
  /** Index in the prompt's blocks. */
  readonly position: number;
  readonly tokens: number;
  /** Tokens of everything that was sent, up to and including this result. */
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
  /** What the model is shown, if that differs from what was sent. */
  readonly shown?: WireBlock;
  /** Present if the block is a breakpoint: how long what is written there lives. */
  readonly breakpoint?: Lifetime;
}
