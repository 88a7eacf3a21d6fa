import { tokens } from "../schema/brand.ts";

/** Where nothing says otherwise. */
export const windowTokensDefault = tokens(200_000);

/** What a `[1m]` behind a model's name or the 1M beta stands for. */
export const windowTokensMillion = tokens(1_000_000);

/** Sizes that windows usually have, smallest first: what a window that nobody knows is taken for. */
export const usualWindowsTokens: readonly number[] = [200_000, 400_000, 1_000_000, 2_000_000, 10_000_000];

/** Below this window every buffer and reserve shrinks in proportion, so that thresholds never go negative or cross. */
export const fullBufferWindowTokens = tokens(100_000);

/** Output limit of a model that nobody knows: the smallest that current models have. */
export const outputTokensMaxDefault = tokens(64_000);

/** A size outside these that an error seems to name is another number: an error's code, a count of messages. */
export const learnableWindowTokensMin = tokens(1_000);
export const learnableWindowTokensMax = tokens(100_000_000);

/**
 * The first request of ours that is counted calibrates the estimate of all that it held, where the two are this near to
 * each other. Further apart, it held something that nobody measured.
 */
export const wholeRequestRatioMin = 1 / 3;
export const wholeRequestRatioMax = 2;

/**
 * Between these shares of the estimate a provider's count is believed. Estimates are off by up to this much where a
 * tokenizer is another, or a text is dense: see `test/long` for what recorded sessions show.
 */
export const believedRatioMax = 3;
export const believedRatioMin = 1 / 4;

/** Besides, in tokens: what a provider adds to every request, and what a short one is off by. */
export const believedAllowanceTokens = 4_000;

/**
 * The same of one block that a tokenizer of the caller's counts: an estimate of one is further off than that of a whole
 * request, so that more is believed. Besides, in tokens: what a short one may be off by.
 */
export const believedBlockRatioMax = 8;
export const believedBlockAllowanceTokens = 32;

/** Besides, for each document: the longest that is taken has 100 pages, of text and as images. */
export const believedDocumentTokensMax = 400_000;

/** Besides, of a session of ours of which nobody knows what its requests carry: a system prompt, tools and files. */
export const believedHiddenTokensMax = 120_000;

/** Besides, of another tool's log: one that begins in the middle of a session may lack a whole window of it. */
export const believedFragmentTokensMax = 1_000_000;

/** Counts of views that an edit or an undo has changed since: one undo brings back one of them. */
export const earlierAnchorsMax = 16;

/** Runs of letters and digits that are at least so long may be encoded data, which tokenizers cut into small pieces. */
export const encodedRunMin = 24;
/** So many tell what a run is; megabytes of it need not be looked through. */
export const judgedCharsMax = 96;
/** Encoded data changes between digits, small letters and capitals at about every other character, words at every sixth. */
export const encodedChangeShare = 0.28;

/** Some programs write a few bytes before a PDF's header; readers of PDFs look this far. */
export const pdfHeadBytes = 1_024;

/** Below this share of their estimate the messages of a recorded request can't be what it held: its log lacks something. */
export const conversationRatioMin = 1 / 2;
