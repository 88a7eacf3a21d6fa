/** A compaction leaves at least so much room below its threshold: a round or two, or it would be due again at once. */
export const headroomTokensMin = 10_000;

/** And no more than this share of it, so that small windows compact too. */
export const headroomShareMax = 0.1;
