/** Lines of a summary that is not shown whole: enough to see whether it is about the right thing. */
export const summaryLinesMax = 12;

/**
 * Items listed of each of what was changed, carried forward and restored: more would push the figures off the screen,
 * so they are counted.
 */
export const listedUnaskedMax = 3;

/** Characters of one such item: a line at a terminal. */
export const carriedCharsMax = 100;

/** More than any model writes as a summary, and than any window has room for beside the rest. */
export const summaryBytesMax = 4 * 2 ** 20;
