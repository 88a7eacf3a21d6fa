/** More threads only wait for the disk and for each other. */
export const jobsMax = 64;
/**
 * Megabytes of a thread's heap: the largest recordings with all policies stay well below; a thread that needs more
 * fails alone.
 */
export const threadHeapMbMax = 4_096;
/** With less, a thread can't hold a recording of ordinary size. */
export const threadHeapMbMin = 512;
/** Share of the machine's memory for all threads together: the rest is for other programs. */
export const threadsMemoryShare = 0.6;

/** Stored outcomes are for resuming a run and for looking again soon; older ones are removed. */
export const keptDaysMax = 30;

/** Shorter sessions are mostly header: the effect of a policy does not show in them. */
export const roundsMinDefault = 30;

/** Resampling fewer sessions draws the same few again and again: the interval would be too narrow. */
export const intervalSessionsMin = 5;

/** A folder may hold thousands of files that are no sessions. */
export const filesShownMax = 10;

/** Sessions whose context is drawn over time. */
export const plottedSessionsMax = 2;

/** How often a terminal gets a new progress line while no job ends. */
export const progressMillis = 1_000;

/** Lines of a trace are collected up to this size before they are written. */
export const traceBufferBytesMax = 256 * 1024;
