import { millis } from "../../schema/brand.ts";

/** Of the plain call's reply, analysis and summary together. */
export const summaryOutputTokensMax = 20_000;

/** And no more than this share of the summariser's window: most of a small one is for what it reads. */
export const summaryOutputShareMax = 0.25;

/**
 * Between what we count of a plain request and the window: the system prompt, the definition of a tool with what
 * providers say about tools themselves, and what our count may be off.
 */
export const plainMarginTokens = 1_000;

/** What a provider writes around each message. */
export const messageFrameTokens = 4;

/**
 * Answers to one compaction that came whole, were paid for and are no summary, by whatever path: the provider's own, the
 * fork, the plain call and that call again. The same text read a third time by the same model gives the same again.
 */
export const unusableAnswersMax = 2;

/**
 * A fork reads the cache and is worth a second and a third try; behind it there is the plain call. A summary of usual
 * length takes two minutes to write.
 */
export const forkLimits = { triesMax: 3, timeMillisMax: millis(5 * 60_000) } as const;

/** The longest summary at a slow model's pace, tries and waits between them included. */
export const plainTimeMillisMax = millis(10 * 60_000);

/** A local server reads a long prompt for minutes without a word; longer than this nobody is there. */
export const plainSilenceMillisMax = millis(5 * 60_000);

/** Behind a summary there is the extractive one: an overload of some seconds is waited for, no more. */
export const plainRetryLimits = {
  triesMax: 3,
  backoffMillis: millis(1_000),
  backoffMillisMax: millis(8_000),
  retryAfterMillisMax: millis(30_000),
} as const;

/** Of each piece of a round that is longer than the summariser's window; where that is too much, pieces are left out. */
export const pieceCharsMin = 200;
