import { millis } from "../../schema/brand.ts";

/** When an extraction is stopped. Nothing waits for it, but it keeps the next one from starting. */
export const extractMillisMax = millis(3 * 60_000);
/** How long a ranking of the memories may take: without one the fork looks for itself. */
export const extractRankMillisMax = millis(5_000);
/** Tries for each request: the next extraction is another try. */
export const extractTriesMax = 2;
/** Replies of an extraction that answers in text: calls of tools are refused, and it is given one more chance to answer. */
export const extractTextRoundsMax = 2;
/** How long a session that closes waits for an extraction. */
export const extractCloseWaitMillisMax = millis(10_000);
/** How long it may take to stop after that: a request is aborted at once. */
export const extractStopMillisMax = millis(1_000);
/** After so many failures in a row no more is extracted in this session: each reads the whole context. */
export const extractFailuresMax = 3;
/** Memories of which the fork is shown name, description, type and age. */
export const manifestMemoriesMax = 200;
/** Existing memories that are shown whole, since the new messages have to do with them: they spare a round of reading. */
export const shownMemoriesMax = 5;
/** Memories that one extraction may write. More is not memory but a transcript. */
export const extractedMemoriesMax = 8;
/** Commits of one extraction while others write at the same time. */
export const extractCommitTriesMax = 5;
/** What one extraction sends besides the conversation and answers, for an estimate of its price. */
export const usualExtraction = { directiveTokens: 2_000, outputTokens: 400 };
/** Questions to the transcripts, and passages for each: most extractions have none. */
export const extractRecall = { queriesMax: 5, hitsMax: 10 };
