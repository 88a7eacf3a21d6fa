import { millis, nanoUsd } from "../schema/brand.ts";

/** The API's own limit for one request. */
export const breakpointsMax = 4;

/** Positions that the provider looks at for one breakpoint, itself included. */
export const lookBackMax = 20;
/** How far behind a breakpoint that reaches. */
export const lookBackBlocks = lookBackMax - 1;

/** Written places that are remembered: as many as a turn of long rounds makes. Older ones have expired anyway. */
export const writtenPlacesMax = 256;

/**
 * Initial size of the buffer for the messages' bytes, so that a short conversation does not outgrow it at every
 * request.
 */
export const joinedBytesMin = 64 * 2 ** 10;

/** A drop is a break only above both: counts vary by some tokens, and a small prefix by some per cent. */
export const breakShareMin = 0.05;
export const breakTokensMin = 2_000;

/** Requests whose figures are kept one by one; the sums include all requests. */
export const requestCostsMax = 1_000;

/**
 * The chance that the next request comes between five minutes and an hour later, this many rounds after such a gap:
 * from 62 recorded sessions with 6,155 rounds (scripts/session-curves.ts). Gaps come in bunches.
 */
export const gapChances = [
  { roundsMax: 10, chance: 0.041 },
  { roundsMax: 30, chance: 0.03 },
] as const;
/** The same long after a gap, or before the first. */
export const gapChanceRare = 0.013;
/** The table weighs as much as so many rounds of the session itself. */
export const gapPriorRounds = 100;

/**
 * Results that would save less are not cleared, unless the policy says otherwise: they are half of all results and hold
 * 2 % of their tokens.
 */
export const residentTokensMin = 100;

/** A longer message of the user is pasted text: the files in it are not what it points at. */
export const namedPathsCharsMax = 20_000;

/** A shorter line is no evidence of a quotation: braces and imports repeat anyway. */
export const lineCharsMin = 40;

/** Lines of one result by which a quotation of it is found. Longer results are mostly quoted from their beginning. */
export const linesIndexedMax = 2_000;

/** Rounds for which a plan looks ahead. Twice as many would not make the walk noticeably rarer. */
export const quietRoundsMax = 32;
/** The context may shrink to this share, by a better count, before a plan looks again. */
export const quietContextShare = 0.95;
/** The error that sums of many small costs may have. */
export const quietMarginTokens = 1;

/** Sizes assumed before the first compaction: what its model writes, and what is restored beside the summary. */
export const compactOutputTokensDefault = 3_000;
export const summaryTokensDefault = 3_000;
export const restoredTokensDefault = 8_000;
/** At most this share of a small window: budgets shrink with it. */
export const summaryWindowShareDefault = 0.1;
export const restoredWindowShareDefault = 0.2;

/** Entries of the prompt cache that are remembered. Beyond it the least recently used one is evicted. */
export const cachedPrefixesMax = 10_000;
/**
 * Prefixes for which variants are remembered (entries that were written while results in them were deleted), and
 * variants for each.
 */
export const editedPrefixesMax = 1_000;
export const editedVariantsMax = 4;

/** Background work may cost this share of what everything else has cost in the window: too little to notice on a bill. */
export const backgroundShareMax = 0.05;
/** A week: a day off must not stop what the days before have earned. */
export const backgroundWindowMs = millis(7 * 24 * 60 * 60 * 1000);
/** What a day allows in any case, $0.05: memory must work for a new project too. */
export const backgroundDayNanosMin = nanoUsd(50_000_000);
