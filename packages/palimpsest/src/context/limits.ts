/** Files remembered as read; the oldest are forgotten first and must be read again before an edit. */
export const readFilesMax = 1_000;

/** Margin between a reply's limit and the window: our own count may be off by this much. */
export const outputMarginTokens = 1_000;

/** Additional margin, as a share of what the provider has not counted yet: estimates of dense text are up to this much too low. */
export const uncountedMarginShare = 1 / 3;

/** A reply with less room is not worth requesting; a request without this room is already over the limit. */
export const outputTokensMin = 1_024;

/** A result's summary for the user: a line and a half of a wide terminal. */
export const summaryCharsMax = 200;

/** A result's summary in the log: most are shorter, and the full text of a failure is in the result itself. */
export const keptSummaryCharsMax = 500;

/** Requests over which rent is computed: after this many it has long paid for any compaction. */
export const rentRoundsMax = 2_000;

/** The largest items that are listed if there is no headroom: enough to see what to remove. */
export const largestNamedMax = 5;

/**
 * The model is told how full its context is at these shares of the tokens at which compaction starts. Half-way leaves time
 * to choose the moment; at nine tenths of a usual window some ten rounds are left, enough to finish a step.
 */
export const pressureBandPercents = [50, 75, 90] as const;

/** A timer may fire slightly early. If this many waits in a row end early, the clock is broken and the time limit is off. */
export const earlyWaitsMax = 3;

/** The default limit of one reply: official clients refuse unstreamed requests above some 21,000. */
export const replyTokensDefault = 16_000;

/** Share of the window: in a small one, room for a long reply is lost to the conversation. */
export const replyShareMax = 0.25;

/**
 * An edit that is made because it pays is announced if it costs at least so many dollars now. Most clears cost less than
 * a cent, and a line for each of them would hide the dear ones.
 */
export const announcedUsdMin = 0.05;

/** Rounds for which the answer about a planned edit holds: as many as a reason counts savings over. */
export const approvalRounds = 20;

/** Entries that a memory names as its source: a turn may have thousands, and the newest led to it. */
export const memoryMessagesMax = 50;

/** A model that chooses memories sees this much of the message: what it is about stands at its beginning. */
export const chooseMessageCharsMax = 4_000;
/** Five paths. */
export const chooseOutputTokensMax = 500;
/** The user waits for it. */
export const chooseTimeMillisMax = 10_000;

/** Other processes spend little in a minute, and the log is small: reading it more often would not decide otherwise. */
export const spendFreshMs = 60_000;

/** After so many dreams in a row that failed, a session starts no more by itself: the next one would most likely fail too. */
export const dreamFailuresMax = 1;

/** Rewinds reach back a few turns; a cursor is one extraction. */
export const cursorsKept = 50;
