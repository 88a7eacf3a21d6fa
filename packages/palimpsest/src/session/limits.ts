import { bytes, millis } from "../schema/brand.ts";

// Reading a log.

/** First read from the end of a log; doubled until the view is known. Most boundaries lie within it. */
export const tailChunkBytes = bytes(256 * 1024);

/** One read of a forward scan: large enough that the number of calls does not matter, small enough for memory. */
export const scanChunkBytes = bytes(4 * 1024 * 1024);

/** An origin line holds a path and a hash. A longer first line is not an origin line. */
export const originLineBytesMax = bytes(64 * 1024);

/** Other tools record the system prompt within this range: after the origin line, at the beginning of their log. */
export const promptHeadBytes = bytes(512 * 1024);

// What is stored or derived.

/** The facts in a checkpoint, as JSON: twice what the limits of layer 4 add up to with paths and names of usual length. */
export const storedFactsCharsMax = 1024 * 1024;

/** A title that is made from the user's first message fits one line of a list. */
export const titleCharsMax = 80;

/** Findings accepted by one entry: about 150 KB, far below the limit of a line. */
export const acceptedPerEntryMax = 1_000;

/** Each receipt costs two readings of the log: this many take seconds for a log of 100 MB, and users ask about the newest. */
export const computedReceiptsMax = 20;

/** Requests whose count is remembered: a process sees a handful of tool sets, each with a few steps. */
export const rememberedCountsMax = 500;

// Garbage collection.

/** A blob is written before the edit that names it; the edit never follows later than this. */
export const garbageAgeMin = millis(60 * 60 * 1000);

/** This many digits of a blob's id count as a reference to it: two blobs share them by chance once in 2^64. */
export const referenceDigitsMin = 16;

// Adoption of another tool's log.

/**
 * If another process is adopting the same file, the caller checks again after this time, up to this many times. That is
 * half a minute, enough to copy gigabytes.
 */
export const adoptWaitMs = millis(100);
export const adoptAttemptsMax = 300;

/** The end of the indexed part of a log is compared before what follows is indexed: a replaced log differs there. */
export const markedBytesMax = bytes(4 * 1024);

/** Paths of one call that a search can filter by. Longer ones are data. */
export const namedFilesMax = 20;
export const namedPathCharsMax = 300;

/** Twice what a mailbox holds unread: of older records none can be of a message that is still unread. */
export const mailRecordsKeptMax = 2_000;

/** How long a search of one session waits until the store's index has it. Another process may be indexing the whole project. */
export const sessionCatchUpMs = millis(3_000);
