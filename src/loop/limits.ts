import { bytes, millis } from "../schema/brand.ts";

/** First read from the end of a log; doubled until the view is known. Most boundaries lie within it. */
export const tailChunkBytes = bytes(256 * 1024);

/** An origin line names a path and a hash: it is short, or it is none. */
export const originLineBytesMax = bytes(64 * 1024);

/** One read of a forward scan. Large enough that the calls do not count, small enough that memory does not. */
export const scanChunkBytes = bytes(4 * 1024 * 1024);

/** A blob is written before the edit that names it; no edit is on its way for this long. */
export const garbageAgeMin = millis(60 * 60 * 1000);

/** So many digits of a blob's id count as its name, wherever they stand: two blobs share them by chance once in 2^64. */
export const referenceDigitsMin = 16;

/** Who finds a file being adopted by another process looks again after this time, so often: half a minute, in which gigabytes are copied. */
export const adoptWaitMs = millis(100);
export const adoptAttemptsMax = 300;

/** Where other tools record the system prompt: behind the origin line, at the beginning of their log. */
export const promptHeadBytes = bytes(512 * 1024);

/** Each costs two readings of the log: so many take seconds for a log of some 100 MB, and people ask about the newest. */
export const branchReceiptsMax = 20;

/** Of the facts in a checkpoint, as JSON: what the limits of layer 4 add up to with paths and names of usual length, twice. */
export const storedFactsCharsMax = 1024 * 1024;

/** Requests whose count is remembered: a process sees a handful of tool sets, each with a few steps. */
export const rememberedCountsMax = 500;

/** Between a reply's limit and the window: our own count may be that far off. */
export const outputMarginTokens = 1_000;

/** Besides, of what the provider has not counted yet: an estimate of dense text is too low by up to so much. */
export const uncountedMarginShare = 1 / 3;

/** A reply with less room is not worth asking for; a request that can't give it is over the limit before. */
export const outputTokensMin = 1_024;

/** Rounds of one turn. A model that has not come to an end by then goes in circles. */
export const roundsMax = 500;

/** Tools that only read and run side by side. */
export const parallelCallsMax = 8;

/** Of a result as people see it: a line and a half of a wide terminal. */
export const summaryCharsMax = 200;

/** Of such a line in the log: most are shorter, and a failure that is told at length stands in the result itself. */
export const keptSummaryCharsMax = 500;

/** How long a tool that is to stop may take to do so; then its call ends without it. */
export const abortGraceMs = millis(5_000);

/** How often a hook may make the model go on in one turn. */
export const stopHooksMax = 10;

/** Requests on which rent is reckoned: after so many it has long paid for any compaction. */
export const rentRoundsMax = 2_000;

/** Items that are named where there is no headroom: enough to see what to do about it. */
export const largestNamedMax = 5;

/**
 * Of the tokens at which compaction fires: where the model is told how full its context is. Half-way leaves time to
 * choose the moment; at nine tenths of a usual window some ten rounds are left, enough to finish a step.
 */
export const pressureBandPercents = [50, 75, 90] as const;

/** A timer may fire a moment too early. Waits that end before their time again and again are no clock: nothing is limited by them. */
export const earlyWaitsMax = 3;

/** Replies without a change of an open task list, after which the model is reminded of it: that long is forgetting, less is work on one step. */
export const todoReminderRounds = 10;

/** Changed files that one reminder names; a checkout of another branch may change hundreds, and a count says enough of the rest. */
export const changedFilesNamedMax = 20;

/** Of a title made from what the user said: a line of a list. */
export const titleCharsMax = 80;

/** Findings that one entry accepts: about 150 KB, far below what a line may have. */
export const acceptedPerEntryMax = 1_000;
