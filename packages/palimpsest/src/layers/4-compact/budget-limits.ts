/** A summary says it in so many tokens, or in a tenth of a small window. */
export const summaryTokensMax = 20_000;
export const summaryWindowShareMax = 0.1;

/** What no model shortened is kept shorter: every later round pays for it. */
export const extractTokensMax = 10_000;

/** Of the room that a compaction makes: the rest is for what is put back, and for going on. */
export const extractRoomShareMax = 0.4;
export const ledgerRoomShareMax = 0.4;
/** Files read again would otherwise fill a small window, and it would be compacted again a round later. */
export const restoredRoomShareMax = 1 / 3;
/** Of what is covered: a short session would otherwise get all of it back, and be no smaller. */
export const restoredCoveredShareMax = 0.4;

/** Of the threshold: up to here a message that waits for its answer stays in the view as it is, and summary and working state still have room. */
export const waitingThresholdShareMax = 0.4;

/** What the audit may add to a summary. */
export const carriedTokensMax = 4_000;
export const carriedWindowShareMax = 0.04;
