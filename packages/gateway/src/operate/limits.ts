export const usersMax = 1_000;

export const configBytesMax = 1024 * 1024;

/** How long running replies may take to end when the gateway is asked to end. */
export const drainSecondsDefault = 30;
export const drainSecondsMax = 3_600;

/** Of the spend book: a kill loses at most what was spent meanwhile. */
export const spendWriteMs = 1_000;

/** Days that the spend book keeps. */
export const spendDaysKept = 62;

/** Changes of the config file are read once they have settled. */
export const configSettleMs = 200;

/** Rows of the status, newest first. */
export const statusRowsMax = 200;

/** The event log begins anew beyond this, with the last one kept beside it. */
export const logBytesMax = 64 * 1024 * 1024;

/** A smaller window has no room for a conversation beside tools and system prompt. */
export const contextTokensMin = 4_000;
