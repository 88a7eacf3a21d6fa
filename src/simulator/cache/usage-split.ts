import type { Lifetime } from "../prompt.ts";

/** A prompt's tokens by what is paid for them; the parts add up to the whole prompt. */
export interface UsageSplit {
  /** Neither read from the cache nor written to it: what stands behind the last breakpoint. */
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWrite5mTokens: number;
  readonly cacheWrite1hTokens: number;
}

export const promptTokensOf = (split: UsageSplit): number =>
  split.inputTokens + split.cacheReadTokens + split.cacheWrite5mTokens + split.cacheWrite1hTokens;

export interface SplitInput {
  readonly promptTokens: number;
  /** Up to the highest hit; 0 without one. */
  readonly readTokens: number;
  /** Breakpoints that are written, first to last: each lies behind the hit. */
  readonly written: readonly { readonly tokensUpTo: number; readonly lifetime: Lifetime }[];
}

/**
 * Three marks cut the prompt: A, the highest hit; B, the highest 1h breakpoint behind A, or else A; C, the last
 * breakpoint, or else A. Up to A is read, A to B is written for an hour, B to C for five minutes, the rest is input.
 */
export function splitUsage({ promptTokens, readTokens, written }: SplitInput): UsageSplit {
  const hourTokens = written.findLast(({ lifetime }) => lifetime === "1h")?.tokensUpTo ?? readTokens;
  const lastTokens = written.at(-1)?.tokensUpTo ?? readTokens;
  return {
    inputTokens: promptTokens - lastTokens,
    cacheReadTokens: readTokens,
    cacheWrite5mTokens: lastTokens - hourTokens,
    cacheWrite1hTokens: hourTokens - readTokens,
  };
}
