/** Of a summary that is not shown whole: enough to see whether it is about the right thing. */
export const summaryLinesMax = 12;

/** What the audit adds to a summary: beyond these a count says enough. */
export const carriedShownMax = 8;

/** Of one of these: a line at a terminal. */
export const carriedCharsMax = 100;

/** More than any model writes as a summary, and than any window has room for beside the rest. */
export const summaryBytesMax = 4 * 2 ** 20;
