/** Lines of either side that are compared: nobody reads a longer edit line by line. */
export const diffLinesMax = 5_000;
/** Differences to search for; beyond them the whole middle is shown as replaced. Time grows with their square. */
export const diffStepsMax = 400;
/** Unchanged lines around a change. */
export const diffContextLines = 3;
