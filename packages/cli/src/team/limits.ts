import { millis } from "palimpsest/internal/schema/brand";

/** A session without a mailbox looks this often whether somebody made one for it; it reads one folder. */
export const mailboxLookMs = millis(2_000);

/** A teammate that waits looks this often whether its leader still runs; it reads one small file. */
export const leaderLookMs = millis(1_000);

/** A leader that is gone for so many looks in a row is gone: one that opens another session is away for a moment. */
export const leaderGoneLooks = 3;

/** The end of what a teammate printed, if it did not start: enough for its error. */
export const outputShownChars = 500;

/** Of a message in a line for the user. */
export const newsCharsMax = 120;

/** How long a process that was asked to end may take before it is killed. */
export const killGraceMs = millis(5_000);
export const killLookMs = millis(50);

/** A transcript that is followed is read this often; a reader does not notice less. */
export const followLookMs = millis(250);
export const followChunkBytes = 64 * 1024;
