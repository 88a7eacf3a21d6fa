import { millis } from "../../schema/brand.ts";
import { forkLimits } from "../../layers/4-compact/limits.ts";

/** Whoever watches a compaction hears of it at least so often. */
export const keepAliveMillis = millis(30_000);

/** Of a commit: a conversation that goes on each time between its draft and its writing is left as it is. */
export const commitTriesMax = 5;

/** A preparation that was not allowed is not begun again at once: a hook that forbids it rarely thinks better by the next round. */
export const preparationRestRounds = 3;

/** Of the compaction threshold: where more than this came behind a summary that was prepared, another one makes more room. */
export const preparationTailShareMax = 0.25;

/** Between two reports of how much of a summary has come. */
export const progressChars = 500;

/** After so many failures in a row the breaker opens; a policy may have its own number. */
export const breakerFailuresMax = 3;

/**
 * Rounds of work for which an open breaker keeps any model from being asked by itself. Then one summary is asked for: a
 * provider that was down is often back by then, and one that can't do it costs one try in so many rounds.
 */
export const breakerRestRounds = 20;

/**
 * Rounds of work after an answer that was paid for and is no summary: until then the conversation is almost the text that
 * it could not be made of. Only if the policy compacts without a model at the limit, since somebody has to then.
 */
export const unusableRestRounds = 10;

/** Tries of each request for a summary while the summaries before it have failed: waiting did not help then. */
export const failingTriesMax = 1;

/**
 * Paid calls for summaries that nobody asked for, in so many rounds: a session that compacts more often than every fifth
 * round pays more for summaries than for its work, whatever the reason.
 */
export const autoCallsMax = 6;
export const autoCallsRounds = 30;

/** It reads what a fork would read and writes as much, and behind it there is the fork: no more tries, no more time. */
export const serverCallLimits = forkLimits;
