import type { UsageSplit } from "./usage-split.ts";
import type { Lifetime } from "./prompt.ts";

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
