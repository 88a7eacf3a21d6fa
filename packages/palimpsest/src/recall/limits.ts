/**
 * A long text is ranked by its best passage: measured as a whole, a file of a thousand lines would lose to every short
 * text that happens to share a word. About a screenful, cut at line ends.
 */
export const passageChars = 1_200;

/** Longer queries are pasted texts, which their first characters identify. */
export const queryCharsMax = 2_000;
/** The rarest terms of a query, which count. A long line has some sixty. */
export const queryTermsMax = 64;
export const queryPhrasesMax = 8;

/** Texts that are read again, best first, for the line to show and for others that say the same. */
export const candidatesMax = 100;

/** Characters of one hit, including ellipses: enough to know whether it is the right one. */
export const snippetChars = 240;
/** Characters of the text before a hit and of the one after it: enough to know what was being talked about. */
export const hitNeighbourChars = 100;
/** A longer line is data; its beginning tells whether two are the same. */
export const sameLineChars = 500;

/** Hits per page by default and at most. */
export const pageSizeDefault = 10;
export const pageSizeMax = 100;

/** Characters of the call that a result answers: the tool and its input. */
export const callChars = 120;

/** Neighbours of a passage whose words count for it, before and after it. */
export const windowReach = 3;
/** A neighbour counts as if it had no more stems than this: an answer of 300 words would drown the short question before it. */
export const neighbourStemsMax = 15;
