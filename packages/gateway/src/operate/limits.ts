/** A team or a company; the status lists them all. */
export const usersMax = 1_000;

/** Room for a thousand users with their keys. A larger file was named by mistake. */
export const configBytesMax = 1024 * 1024;

/** How long running replies may take when the gateway stops. Service managers commonly kill a process after 90 seconds. */
export const drainSecondsDefault = 30;

/** Longer than any reply takes: the upstream's own limits end it before. */
export const drainSecondsMax = 3_600;

/** How long a charge waits before spend.json is written: a kill loses at most what was spent in that time. */
export const spendWriteMs = 1_000;

/** Days kept in spend.json: this month and the last, for a monthly bill. */
export const spendDaysKept = 62;

/** Bytes of spend.json: the days above for `usersMax` users with names of 64 characters are about 8 MB. */
export const spendBytesMax = 16 * 1024 * 1024;

/** A changed config file is read after this pause, because editors write in several steps. */
export const configSettleMs = 200;

/** Rows in the status, newest first: a page of some 100 KB, which is fetched every 3 seconds. The totals count all. */
export const statusRowsMax = 200;

/** Beyond this the event log is rotated: some 100,000 requests. The previous file is kept as `.1`. */
export const logBytesMax = 64 * 1024 * 1024;

/** A smaller window has no room for a conversation besides tools and system prompt. */
export const contextTokensMin = 4_000;
