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

// Memories.

/** A commit takes milliseconds; a writer that waits longer than this is told who holds the lock. */
export const memoryLockWaitMs = millis(15_000);

/** Pauses between two attempts to take the lock: short enough to feel immediate, different so that waiters don't march in step. */
export const memoryLockPauseMs = { min: millis(1), max: millis(15) } as const;

/** A file is read again if it was changed this shortly before it was looked at: the clock of a file system is coarse. */
export const fileTimeCoarseMs = millis(100);

/** The history of a memory directory is read in one piece; texts of this size are the work of years. */
export const memoryLogBytesMax = bytes(512 * mib);

/** A text of the history is put together from at most so many differences, so that none takes more reads than this. */
export const memoryDeltasMax = 32;
/** With less in common a difference is no shorter than the text. */
export const memoryDeltaCharsMin = 200;

/** Files and folders of a working tree that are listed for the drift check: a second of disk time at most. */
export const treeEntriesMax = 50_000;
/** The list is made again after this time: a session lasts hours, and files come and go. */
export const treeFreshMs = millis(60_000);

// Other agents' logs.

/** Codex sorts by year, month and day; Claude Code has the logs of sub-agents two folders below a project's. */
export const foldersBelowMax = 4;

/** More logs than anyone has; a home that is a whole disk must not be walked to its end. */
export const foreignFilesMax = 50_000;

/** Another program's database is copied to read what waits in its log; of a larger one that is read later. */
export const copiedDatabaseBytesMax = bytes(64 * mib);

/** Notes and memories are short; a larger file is something else. */
export const indexedTextBytesMax = bytes(1 * mib);

// Dreams.

/** A dream is stopped after a quarter of an hour; one whose process lives and that takes this long hangs. */
export const dreamOverdueMs = millis(60 * 60_000);

/** The lease of a dream is written in milliseconds; who waits longer for another process to have done it does not dream. */
export const dreamGuardWaitMs = millis(5_000);
export const dreamGuardPauseMs = millis(5);
/** Who ends a dream waits so many times longer: a lease that stays keeps everybody from dreaming while its process lives. */
export const dreamFreeTriesMax = 12;

// What was paid.

/** A day more than the window of the budget, which begins in the middle of a day. */
export const spendKeptMs = millis(8 * 24 * 60 * 60 * 1000);

/** A hundred requests a minute, all day long; it is read in one piece, once a minute. */
export const spendDayBytesMax = bytes(8 * mib);
