import { bytes, millis } from "palimpsest/internal/schema/brand";

/** Length of a chain of forks that is followed: each session costs a disk access when the session opens. */
export const ancestorsMax = 100;

/**
 * Replies without a change of an open task list until the model is reminded of it: after so many it has been forgotten,
 * after fewer it may be working on one step.
 */
export const todoReminderRounds = 10;

/**
 * Changed files that one reminder names; a checkout of another branch may change hundreds, and a count is enough for
 * the rest.
 */
export const changedFilesNamedMax = 20;

// Deletion of old sessions.

/** Sessions deleted in one go: the project is searched once for each group, and between two groups the work can stop. */
export const expiredTogetherMax = 50;
/** Where a session's title is looked for first, at each end of its transcript: where lists look too. */
export const titleEndBytes = bytes(64 * 1024);
/** One read of the search for a title. */
export const titleChunkBytes = bytes(4 * 1024 * 1024);

/**
 * Length of an announced change of instructions, about 5,000 tokens: every later request carries it. Of a longer one
 * the model is told to read the file, which can be cleared again.
 */
export const announcedChangeCharsMax = 20_000;

/** A text of instructions at an address; a larger one is something else. */
export const addressBytesMax = bytes(256 * 2 ** 10);
/** A session waits for it when it starts. */
export const addressTimeoutMs = millis(5_000);
/** A moved text redirects once or twice: more means a loop. */
export const addressRedirectsMax = 3;
/** How long a copy counts as current: a session that is opened again, or compacted, need not wait for the network. */
export const addressFreshMs = millis(10 * 60_000);
/** A copy of this age at most is used at once, and the address is asked meanwhile for the next session. */
export const addressUsableMs = millis(24 * 60 * 60_000);

/** Requests of a session for which costs are stated. The median of 25 recorded sessions of a coding agent is 82. */
export const typicalRequests = 80;

/** A look at the instruction files before a request may take this long without a word about it. */
export const instructionLookFreeMs = millis(50);
/** A longer look, such as one for a pattern that lists a large tree, may take this share of the time at most. */
export const instructionLookShareMax = 0.05;
