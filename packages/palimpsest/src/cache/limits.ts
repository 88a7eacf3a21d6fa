/** The API's own limit for one request. */
export const breakpointsMax = 4;

/** Positions that the provider looks at for one breakpoint, itself included. */
export const lookBackMax = 20;
/** How far behind a breakpoint that reaches. */
export const lookBackBlocks = lookBackMax - 1;

/** Places that earlier requests wrote: as many as a turn of long rounds makes; older ones have expired anyway. */
export const writtenPlacesMax = 256;

/** A drop is a break only above both: counts wobble by some tokens, and a small prefix by some per cent. */
export const breakShareMin = 0.05;
export const breakTokensMin = 2_000;

/** Requests whose figures are kept one by one; the sums hold all of them. */
export const requestCostsMax = 1_000;

/** A buffer for the messages' bytes begins with this, so that a short conversation does not outgrow it at every request. */
export const joinedBytesMin = 64 * 2 ** 10;

/** Results that would save less are never cleared: they are half of all results and hold 2 % of their tokens. */
export const residentTokensMin = 100;

/** A shorter line is no evidence that it was quoted: braces and imports repeat by themselves. */
export const lineCharsMin = 40;

/** Lines of one result by which a quotation of it is found; what is longer is quoted from its beginning more often than not. */
export const linesIndexedMax = 2_000;

/** Gaps between five minutes and an hour in recorded sessions, at the weight of so many rounds. */
export const gapsPrior = { gaps: 0.6, rounds: 50 } as const;

/** Rounds for which a plan looks ahead: at twice as many the walk would not be noticed less. */
export const quietRoundsMax = 32;
/** So far may the context shrink by a better count before a plan looks again. */
export const quietContextShare = 0.95;
/** What sums of many small costs may be off by. */
export const quietMarginTokens = 1;

/** A compaction before there was one to go by: what its model writes, and what is put back beside the summary. */
export const compactOutputTokensDefault = 3_000;
export const summaryTokensDefault = 3_000;
export const restoredTokensDefault = 8_000;
/** And no more than this share of a small window: budgets shrink with it. */
export const summaryWindowShareDefault = 0.1;
export const restoredWindowShareDefault = 0.2;

/** Entries of the prompt cache that are remembered; beyond it the one that was used longest ago goes. */
export const cachedPrefixesMax = 10_000;
/** Prefixes of the cache of which entries are remembered that were written while results in them were deleted, and how many of each. */
export const editedPrefixesMax = 1_000;
export const editedVariantsMax = 4;
