import { millis } from "../../schema/brand.ts";

/** SQLite waits in the thread: longer would be felt in a chat. Who finds the index busy tries again later. */
export const busyMsMax = millis(200);

/** Pages of the index in memory: the upper levels of all its trees, and what a search has just read. */
export const cacheKibMax = 16 * 1024;

/**
 * Characters of one transaction: some 20 ms in SQLite. Smaller ones make the whole slower, since each leaves a segment that
 * has to be merged; larger ones are felt in a chat.
 */
export const transactionCharsMax = 256 * 1024;

/** Passages that are removed in one transaction: some milliseconds. */
export const removedPassagesMax = 200;
/** Pages of 4 KB that one step of a merge writes: 5 to 20 ms. Twice as many are felt in a chat. */
export const mergedPagesMax = 64;

/** Work between two pauses, in which the process does other things. */
export const sliceMsMax = millis(8);

/** Characters that are compressed together: a search reads a found passage with its neighbours in one piece. */
export const chunkCharsMax = 6_000;

/** A process that indexes renews its lease with every transaction; a killed one keeps others waiting this long. */
export const leaseMs = millis(3_000);
export const leaseWaitMs = millis(100);

/** Positions in a document: passages of 16 GB of text. */
export const positionsMax = 2 ** 24;

/** Passages before and after a found one that are ranked with it. */
export const neighboursMax = 3;

/** Postings of one word that are read to learn how common it is; the rest is estimated from their density. */
export const postingsSampleMax = 300;
/** Counts of words that are kept until the index changes. */
export const countedWordsMax = 10_000;

/** Words that are searched for, rarest first, as long as their passages stay below the second limit. */
export const searchedWordsMax = 8;
/** The same in one document, where common words cost little and find what rare ones do not. */
export const documentWordsMax = 24;
export const searchedPostingsMax = 6_000;

/** Found passages that are read, and so can be hits. */
export const foundMax = 100;
/** The best of them, which are ranked with their neighbours. The others follow in SQLite's order. */
export const rankedMax = 50;
/** The same if a phrase or a time has to be checked in the text itself. */
export const checkedMax = 2_000;

/** Found passages that are counted; a count above it says nothing more. */
export const countedMax = 1_000;
