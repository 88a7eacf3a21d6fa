import { bytes, millis } from "../schema/brand.ts";

const kib = 1024;
const mib = 1024 * kib;

// Reading and copying transcripts.

/** Memory that each step of a copy or a search takes: big enough that the disk is the slow part. */
export const copyChunkBytes = bytes(1 * mib);

/** Step of the backward search for the last newline: most last lines fit in one step. */
export const tailChunkBytes = bytes(64 * kib);

/**
 * A last line without its newline is parsed to see whether it is complete. A line longer than this is set aside unparsed,
 * because parsing would need several times its size in memory.
 */
export const tornLineParsedBytesMax = bytes(32 * mib);

// The list of sessions.

/** Listing reads this much at each end of a transcript, however long it is: prompts and titles are near the ends. */
export const summaryEndBytes = bytes(64 * kib);

/** A transcript that grew by at most this much is read to keep its message count exact; reading more would make listing slow. */
export const countedGrowthBytesMax = bytes(1 * mib);

/** Fills one line of a list on a wide screen. */
export const firstPromptCharsMax = 200;

/** An index of 50,000 sessions takes about 30 MB; we did not write a file bigger than this. */
export const indexBytesMax = bytes(64 * mib);

/** Writing an index takes a fraction of a second; an older temporary file was left behind by a process that was killed. */
export const indexWriteMsMax = millis(60_000);

/** Transcripts read at the same time while listing: hides the disk's latency and keeps at most this many pairs of ends in memory. */
export const listedTogetherMax = 8;

// Locks and projects.

/** A lock or project record takes a few hundred bytes; a larger file is neither. */
export const recordBytesMax = bytes(64 * kib);

/** On file systems without hard links, a lock without readable content may still be being written; after this time its writer is dead. */
export const unreadableLockStaleMs = millis(10_000);

/** Each further attempt means that another process changed the lock in the meantime; after this many the lock counts as busy. */
export const lockAttemptsMax = 8;

/** A lock can be missing for a moment while another process checks the file that it renamed; only a lock that stays missing is lost. */
export const lockAwayChecksMax = 5;
export const lockAwayWaitMs = millis(20);

/** `ps` and `git` answer in milliseconds; if one hangs, it must not delay the start. */
export const processListMs = millis(2_000);
export const rootCommitsMs = millis(2_000);

/** More root commits than this do not help to identify the repository. */
export const rootCommitsMax = 32;

/** Common file systems allow 255 bytes for a file name; this leaves room for suffixes and extensions. */
export const fileNameCharsMax = 180;

/** Folders with the same slug that are tried before giving up: different roots rarely share a slug, and this many indicate a fault. */
export const slugSuffixMax = 1_000;

// Notes.

/** Notes are limited to 12,000 tokens; an agent did not write a file many times as long. */
export const notesBytesMax = bytes(1 * mib);
