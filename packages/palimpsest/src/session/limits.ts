import { bytes, millis } from "../schema/brand.ts";

/** First read from the end of a log; doubled until the view is known. Most boundaries lie within it. */
export const tailChunkBytes = bytes(256 * 1024);

/** An origin line names a path and a hash: it is short, or it is none. */
export const originLineBytesMax = bytes(64 * 1024);

/** One read of a forward scan. Large enough that the calls do not count, small enough that memory does not. */
export const scanChunkBytes = bytes(4 * 1024 * 1024);

/** A blob is written before the edit that names it; no edit is on its way for this long. */
export const garbageAgeMin = millis(60 * 60 * 1000);

/** So many digits of a blob's id count as its name, wherever they stand: two blobs share them by chance once in 2^64. */
export const referenceDigitsMin = 16;

/** Who finds a file being adopted by another process looks again after this time, so often: half a minute, in which gigabytes are copied. */
export const adoptWaitMs = millis(100);
export const adoptAttemptsMax = 300;

/** Where other tools record the system prompt: behind the origin line, at the beginning of their log. */
export const promptHeadBytes = bytes(512 * 1024);

/** Each costs two readings of the log: so many take seconds for a log of some 100 MB, and people ask about the newest. */
export const branchReceiptsMax = 20;

/** Of the facts in a checkpoint, as JSON: what the limits of layer 4 add up to with paths and names of usual length, twice. */
export const storedFactsCharsMax = 1024 * 1024;

/** Requests whose count is remembered: a process sees a handful of tool sets, each with a few steps. */
export const rememberedCountsMax = 500;

/** Of a title made from what the user said: a line of a list. */
export const titleCharsMax = 80;

/** Findings that one entry accepts: about 150 KB, far below what a line may have. */
export const acceptedPerEntryMax = 1_000;
