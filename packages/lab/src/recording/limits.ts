import { millis, tokens } from "palimpsest/internal/schema/brand";

/** Between two rounds of a recording without times: a usual answer, and far below any cache lifetime. */
export const untimedGapMillis = millis(10_000);

/** Of a recording without usage: what a lean agent's system prompt and tools come to. */
export const unrecordedHeaderTokens = tokens(10_000);

/**
 * Growth beyond this many times what the text explains came from elsewhere: tools that were added, an image that was
 * not logged. It is no measure of the text. Text that clients never log makes growth up to three times as large.
 */
export const explainedRatioMax = 4;
/** Less than this is explained by reminders whatever its ratio. */
export const unexplainedTokensMax = tokens(2_000);

/** A shorter line repeats by itself: braces, imports, headings. */
export const quotedLineCharsMin = 40;
/** A shorter name is a word of the language, not of one file. */
export const identifierCharsMin = 12;
/** One or two names may be guessed; three were read. */
export const strongIdentifiersMin = 3;
