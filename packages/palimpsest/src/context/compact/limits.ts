import { millis } from "../../schema/brand.ts";
import { forkLimits } from "../../layers/4-compact/limits.ts";

// Progress reports.

/** A running compaction reports at least this often. */
export const keepAliveMillis = millis(30_000);

/** Characters of a summary between two progress reports. */
export const progressChars = 500;

// Tries of one compaction.

/** Tries of a commit: if the conversation changes each time between draft and write, it is not compacted. */
export const commitTriesMax = 5;

/** Tries of each request for a summary while the previous summaries have failed: waiting did not help then. */
export const failingTriesMax = 1;

/** The server call reads and writes as much as a fork, and the fork is its fallback: it gets no more tries and no more time. */
export const serverCallLimits = forkLimits;

// Preparation in the background.

/** After a preparation was forbidden, rounds until the next try: a hook that forbids it rarely allows it one round later. */
export const preparationRestRounds = 3;

/** Share of the compaction threshold: if more than this follows a prepared summary, a new one makes more room. */
export const preparationTailShareMax = 0.25;

// Breaker and spend limit of automatic compactions.

/** Failures in a row that open the breaker; a policy may have its own number. */
export const breakerFailuresMax = 3;

/**
 * Rounds for which an open breaker stops automatic summaries. Then one is tried: a provider that was down is often back by
 * then, and one that can't do it costs one try in this many rounds.
 */
export const breakerRestRounds = 20;

/**
 * Rounds without a try after a paid answer that is not a summary: until then the conversation is almost the text that could
 * not be summarised. Only if the policy compacts without a model at the limit.
 */
export const unusableRestRounds = 10;

/**
 * Paid calls for automatic summaries in this many rounds: a session that compacts more often than every fifth round pays
 * more for summaries than for its work, whatever the reason.
 */
export const autoCallsMax = 6;
export const autoCallsRounds = 30;
