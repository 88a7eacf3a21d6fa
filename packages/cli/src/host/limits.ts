import { millis } from "palimpsest/internal/schema/brand";

/** How long a search waits for what is new; the first one in a project with gigabytes of sessions would wait for minutes. */
export const recallCatchUpMs = millis(10_000);

/** A chat that rested this long is indexed in the background: a user who answers at once is not disturbed. */
export const recallIdleMs = millis(5_000);
/** Between two such runs: each looks at all logs of the project, and a search indexes what is new anyway. */
export const recallIntervalMs = millis(5 * 60_000);
/** Memory of the thread: a log that needs more ends it, and not the chat. */
export const recallThreadHeapMb = 1_024;

/** Read first from the end of a transcript to find its newest message; most are shorter. */
export const ownerTailBytes = 16 * 2 ** 10;
/** And at most: a message with the largest images that a provider takes is shorter. */
export const ownerTailBytesMax = 64 * 2 ** 20;
