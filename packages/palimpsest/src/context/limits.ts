/** Files remembered as read; the oldest go first, and must be read again before an edit. */
export const readFilesMax = 1_000;

/** Between a reply's limit and the window: our own count may be that far off. */
export const outputMarginTokens = 1_000;

/** Besides, of what the provider has not counted yet: an estimate of dense text is too low by up to so much. */
export const uncountedMarginShare = 1 / 3;

/** A reply with less room is not worth asking for; a request that can't give it is over the limit before. */
export const outputTokensMin = 1_024;

/** Of a result as people see it: a line and a half of a wide terminal. */
export const summaryCharsMax = 200;

/** Of such a line in the log: most are shorter, and a failure that is told at length stands in the result itself. */
export const keptSummaryCharsMax = 500;

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

/** Of one reply, unless the caller says otherwise: official clients refuse to wait unstreamed for more than some 21,000. */
export const replyTokensDefault = 16_000;

/** Of the window: in a small one, room for a long reply is room that the conversation misses. */
export const replyShareMax = 0.25;
