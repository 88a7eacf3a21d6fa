import { tokens } from "../schema/brand.ts";

// Windows and output limits

/** If nothing else is known. */
export const windowTokensDefault = tokens(200_000);

/** The window that a `[1m]` after a model's name or the 1M beta asks for. */
export const windowTokensMillion = tokens(1_000_000);

/** Usual window sizes, smallest first: an unknown window is assumed to be one of these. */
export const usualWindowsTokens: readonly number[] = [200_000, 400_000, 1_000_000, 2_000_000, 10_000_000];

/** Below this window every buffer and reserve shrinks in proportion, so that thresholds never go negative or cross. */
export const fullBufferWindowTokens = tokens(100_000);

/** Output limit of an unknown model: the smallest among current models. */
export const outputTokensMaxDefault = tokens(64_000);

/** A number outside this range in an error message is not a window size, but an error code or a count of messages. */
export const learnableWindowTokensMin = tokens(1_000);
export const learnableWindowTokensMax = tokens(100_000_000);

// When the provider's counts are believed

/**
 * The first counted request of ours calibrates the estimate of everything in it, if the ratio of count to estimate lies
 * in this range. Outside it, the request held something that was not measured.
 */
export const wholeRequestRatioMin = 1 / 3;
export const wholeRequestRatioMax = 2;

/**
 * A provider's count is believed if its ratio to the estimate lies in this range. Estimates are off by up to this much
 * with another tokenizer or dense text: see `test/long` for what recorded sessions show.
 */
export const believedRatioMax = 3;
export const believedRatioMin = 1 / 4;

/** Additional tolerance in tokens: what a provider adds to every request, and the error of a short one. */
export const believedAllowanceTokens = 4_000;

/**
 * The same for one block counted by the caller's tokenizer: the estimate of a block is less accurate than that of a whole
 * request, so the range is wider. The allowance, in tokens, covers the error of a short block.
 */
export const believedBlockRatioMax = 8;
export const believedBlockAllowanceTokens = 32;

/** Additional tolerance for each document: the longest that the API accepts has 100 pages, as text and as images. */
export const believedDocumentTokensMax = 400_000;

/** Additional tolerance for a session of ours whose fixed part is unknown: a system prompt, tools and files. */
export const believedHiddenTokensMax = 120_000;

/** Additional tolerance for another program's log: one that begins in the middle of a session may lack a whole window of it. */
export const believedFragmentTokensMax = 1_000_000;

/** Counts kept of earlier views, before an edit or undo changed them: an undo may bring one of these views back. */
export const earlierAnchorsMax = 16;

/** Below this share of their estimate, the messages of a recorded request can't be all that it held: its log lacks something. */
export const conversationRatioMin = 1 / 2;

// Measuring content

/** Runs of letters and digits of at least this length may be encoded data, which tokenizers cut into small pieces. */
export const encodedRunMin = 24;
/** This many characters are enough to classify a run; it need not be read to its end. */
export const judgedCharsMax = 96;
/** Encoded data changes between digits, lower case and upper case at about every other character, words at every sixth. */
export const encodedChangeShare = 0.28;

/** Some programs write a few bytes before a PDF's header; PDF readers search this far. */
export const pdfHeadBytes = 1_024;
