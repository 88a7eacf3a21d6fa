import { bytes, millis } from "../schema/brand.ts";

const kib = 1024;
const mib = 1024 * kib;

/** What each step of a copy or a search holds in memory: big enough that the disk is the slow part. */
export const copyChunkBytes = bytes(1 * mib);

/** Step of the search for the last newline: most last lines fit in one. */
export const tailChunkBytes = bytes(64 * kib);

/** A last line without its newline is parsed to see whether it is whole. A longer one is kept aside unread: parsing would need several times its size in memory. */
export const tornLineParsedBytesMax = bytes(32 * mib);

/** Listing reads this much at each end of a transcript, whatever its length: prompts and titles stand near the ends. */
export const summaryEndBytes = bytes(64 * kib);

/** Growth that is still read to keep a message count exact; more costs the list its promise of bounded reads. */
export const countedGrowthBytesMax = bytes(1 * mib);

/** One line of a list on a wide screen. */
export const firstPromptCharsMax = 200;

/** An index of 50,000 sessions is about 30 MB; a bigger file is not an index we wrote. */
export const indexBytesMax = bytes(64 * mib);

/** Writing an index takes a fraction of a second; one that is older was left behind by a process that was killed. */
export const indexWriteMsMax = millis(60_000);

/** Transcripts looked at together while listing: hides the latency of the disk and holds at most this many pairs of ends. */
export const listedTogetherMax = 8;

/** A lock or project record is a few hundred bytes; more is not one. */
export const recordBytesMax = bytes(64 * kib);

/** A lock without readable content may be in the making on file systems without hard links; after this time its maker is dead. */
export const unreadableLockStaleMs = millis(10_000);

/** Each attempt means that another process changed the lock meanwhile; that many in a row is a crowd, and a crowd is "busy". */
export const lockAttemptsMax = 8;

/** A lock can be away for a moment while another process checks what it renamed; only a lock that stays away is lost. */
export const lockAwayChecksMax = 5;
export const lockAwayWaitMs = millis(20);

/** `ps` and `git` answer in milliseconds; a hanging one must not hold up the start. */
export const processListMs = millis(2_000);
export const rootCommitsMs = millis(2_000);

/** More roots than this say nothing more about which repository it is. */
export const rootCommitsMax = 32;

/** File names end at 255 bytes on common file systems; leaves room for suffixes and extensions. */
export const fileNameCharsMax = 180;

/** Folders of the same slug that are tried before giving up: different roots with one slug are rare, this many are a fault. */
export const slugSuffixMax = 1_000;

/** Notes have 12,000 tokens; a file many times as long is not one that an agent keeps. */
export const notesBytesMax = bytes(1 * mib);
