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

/**
 * Up to this size data is written on this thread: the system's cache takes it in some 20 µs, and the way to another thread
 * and back takes several times as long. A sync is always another thread's.
 */
export const directWriteBytesMax = bytes(64 * kib);

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

// Messages between agents.

/** Of all senders together: a receiver that is this far behind is not reading. */
export const mailboxUnreadMax = 1_000;

/** Unread messages of this size take seconds to read; the largest single message has about 6 MB. */
export const mailboxUnreadBytesMax = bytes(256 * mib);

/** One look returns at most so many bytes, and at least one message: several times what a model's window holds. */
export const unreadBytesMax = bytes(16 * mib);

/** A sender repeats only messages whose answer it does not have; it can't have more of them open than a mailbox takes unread. */
export const rememberedIdsMax = 64;

/** An agent hears from few others; of more than this the ones that were quiet longest are forgotten. */
export const rememberedSendersMax = 1_000;

/** Read messages are removed when there are so many, or so many bytes, and more of them than of unread ones. */
export const readMessagesKeptMax = 256;
export const readBytesKeptMax = bytes(1 * mib);

/** A message is stored in milliseconds; a sender that waits longer than this is told who holds the lock. */
export const mailboxLockWaitMs = millis(15_000);

/** Between two looks at a lock that is held; each a random part of this longer, so that waiters don't march in step. */
export const mailboxLockPauseMs = millis(1);

/** After so many looks the lock is judged: its holder may be dead. */
export const mailboxLockLooksMax = 8;

/** A temporary file is in use for milliseconds; an older one was left by a process that was killed. */
export const temporaryLeftMs = millis(60_000);

/** If the system reports no changes of files, a message is found after this time. */
export const mailboxPollMs = millis(500);

/** Mailboxes of which a process remembers how far it has read; the others are read again. */
export const rememberedMailboxesMax = 256;

// Tasks of a team.

/** More tasks than a team of agents works off; a list is read in one piece. */
export const teamTasksMax = 1_000;
export const taskSubjectCharsMax = 300;
/** Longer instructions and results belong into a file that the task names. */
export const taskTextCharsMax = 50_000;
/** A list whose lines are mostly of earlier states is written again. */
export const taskLinesPerTaskMax = 4;
export const taskLinesMin = 200;

// Sockets between sessions.

/** The largest message: a million characters that JSON writes with six bytes each, and its address. */
export const socketMessageBytesMax = bytes(8 * mib);

/** What is read of a stranger before its proof: two numbers and a hash. */
export const socketGreetingBytesMax = bytes(4 * kib);

/** Both sides are on this machine; a connection that takes longer hangs, or keeps others out. */
export const socketConnectionMsMax = millis(20_000);

/** Sessions that write to one at the same moment. */
export const socketConnectionsMax = 64;

/** Systems allow 104 or 108 bytes with the final zero. */
export const socketPathBytesMax = 103;
