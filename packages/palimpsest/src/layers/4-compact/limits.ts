/** A compaction leaves at least so much room below its threshold: a round or two, or it would be due again at once. */
export const headroomTokensMin = 10_000;

/** And no more than this share of it, so that small windows compact too. */
export const headroomShareMax = 0.1;

/** Of the message that a partial summary begins with: enough to find it by. */
export const beginsWithCharsMax = 200;

/** A refusal or an error in place of a summary is shorter; what is longer says something. */
export const faultCharsMax = 2_000;

/** A summary over so many times its budget is no summary. */
export const summaryBudgetTimesMax = 3;

/** Of the longer of two texts: where the shorter one is this much of it and stands in it, one repeats the other. */
export const repeatedShareMin = 0.8;

/** Of a text that a change of the gate is told with. */
export const changeCharsMax = 80;

/** Passes over a summary that rewrite quotes; what is wrong after them is taken out line by line. */
export const quotePassesMax = 4;

/** A quote is set right up to this length: it is looked for by an expression made of it, and those have a limit. */
export const nearQuoteCharsMax = 1_000;

/** A part of a shortened quote says something of its own from this length on. */
export const quotePartCharsMin = 12;

/** Of the groups of a request, where the server does not say how much too long it is. */
export const droppedShareUnknown = 0.2;

/** No tokenizer makes fewer tokens of a text than one for so many characters, blanks and rules apart: more need not be looked at. */
export const charsPerTokenMax = 8;

/** Guesses at a length before it is simply halved: most texts cost about the same all along. */
export const fitGuessesMax = 4;
/** Of a text and of what it was made from, in lines: they are laid beside each other at the cost of their product. */
export const ownLinesMax = 2_000;
