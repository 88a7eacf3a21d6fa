import { tokens } from "../schema/brand.ts";

/** Where nothing says otherwise. */
export const windowTokensDefault = tokens(200_000);

/** What a `[1m]` behind a model's name or the 1M beta stands for. */
export const windowTokensMillion = tokens(1_000_000);

/** Sizes that windows usually have, smallest first: what a window that nobody knows is taken for. */
export const usualWindowsTokens: readonly number[] = [200_000, 400_000, 1_000_000, 2_000_000, 10_000_000];

/** Below this window every buffer and reserve shrinks in proportion, so that thresholds never go negative or cross. */
export const fullBufferWindowTokens = tokens(100_000);

/** Output limit of a model that nobody knows: the smallest that current models have. */
export const outputTokensMaxDefault = tokens(64_000);

/** A size outside these that an error seems to name is another number: an error's code, a count of messages. */
export const learnableWindowTokensMin = tokens(1_000);
export const learnableWindowTokensMax = tokens(100_000_000);
