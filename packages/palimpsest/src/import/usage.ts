import type { JsonObject } from "../schema/json.ts";

/** What a provider counted, however the tool split it: `input` without what came from or went into the cache. */
export interface CountedTokens {
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly output: number;
}

/** In the Messages API's words. Nothing where nothing was counted: tools write zeros for replies that were cut off. */
export function usageOf({ input, cacheRead, cacheWrite, output }: CountedTokens): JsonObject | undefined {
  if (input + cacheRead + cacheWrite <= 0) return undefined;
  return {
    input_tokens: Math.max(0, input),
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cacheRead,
    output_tokens: output,
  };
}
