import { tokens } from "../schema/brand.ts";

/** Where nothing says otherwise. */
export const windowTokensDefault = tokens(200_000);

/** What a `[1m]` behind a model's name or the 1M beta stands for. */
export const windowTokensMillion = tokens(1_000_000);

/** Sizes that windows usually have, smallest first: what a window that nobody knows is taken for. */
export const usualWindowsTokens: readonly number[] = [200_000, 400_000, 1_000_000, 2_000_000, 10_000_000];

/** Kept free for the reply, at most: replies are hardly ever longer, and a larger reserve would waste the window. */
export const outputReserveTokensMax = tokens(20_000);

/** Between the compaction threshold and the effective window: room for the round that crosses it. */
export const compactBufferTokens = tokens(13_000);

/** How long before the limit people are warned. */
export const warningBufferTokens = tokens(20_000);

/** Room that every request leaves: no request is sent above the window less this. */
export const blockingBufferTokens = tokens(3_000);

/** Below this window every buffer and reserve shrinks in proportion, so that thresholds never go negative or cross. */
export const fullBufferWindowTokens = tokens(100_000);

/** Output limit of a model that nobody knows: the smallest that current models have. */
export const outputTokensMaxDefault = tokens(64_000);

export const blockingTokensDefault = tokens(windowTokensDefault - blockingBufferTokens);

/** A size outside these that an error seems to name is another number: an error's code, a count of messages. */
export const learnableWindowTokensMin = tokens(1_000);
export const learnableWindowTokensMax = tokens(100_000_000);
