/**
 * A long text is ranked by its best passage: measured as a whole, a file of a thousand lines loses to every short text
 * that happens to share a word. About a screenful, cut at the ends of lines.
 */
export const passageChars = 1_200;

/** Longer queries are pasted texts: their first characters tell them apart. */
export const queryCharsMax = 2_000;
/** Terms that are counted with: the rarest of a query. A long line has some sixty. */
export const queryTermsMax = 64;
export const queryPhrasesMax = 8;

/** Texts that are looked into again, best first, for the line to show and for others that say the same. */
export const candidatesMax = 100;
/** Texts in which a phrase is looked for: words that stand in more of them tell little apart. */
export const phraseTextsMax = 2_000;

/** Of one hit, with the signs that it goes on: enough to know whether it is the right one. */
export const snippetChars = 240;
/** A longer line is data: its beginning tells whether two are the same. */
export const sameLineChars = 500;

/** Hits of a page, where none are asked for and at most. */
export const pageSizeDefault = 10;
export const pageSizeMax = 100;

/** Texts that an index keeps at hand, newest first; older ones are read again when one is shown. A usual session fits whole. */
export const recentCharsMax = 16 * 2 ** 20;

/** Of the call that a result answers: the tool and what it was asked for. */
export const callChars = 120;
