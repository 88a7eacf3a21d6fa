/** The most that the Messages API takes. A larger one is not held and read, but passed on as it comes. */
export const bodyBytesMax = 32 * 1024 * 1024;

/** Other paths, such as uploads of files, are passed on as they come. */
export const passedBodyBytesMax = 512 * 1024 * 1024;

/** Between two chunks of a body. */
export const bodyIdleMsMax = 30_000;

/** A whole body: 32 MB over a slow line. */
export const bodyMsMax = 300_000;

/** Until the end of a request's head. */
export const headMsMax = 15_000;

/** Some clients describe their turn in headers. */
export const headBytesMax = 64 * 1024;

/** Longer than clients keep an idle connection, so that they close it, and not we under their next request. */
export const clientIdleMs = 65_000;

export const clientConnectionsMax = 4_096;

/** A client that reads nothing of its reply: as long as the upstream may be silent. Its connection to the upstream is needed. */
export const stalledClientMsMax = 300_000;

/** How long the rest of a refused body is read and dropped, so that the client gets to read why. */
export const lingerMs = 2_000;

export const pathCharsMax = 8_192;

export const projectCharsMax = 1_024;

/** How often time limits of heads and bodies are checked. */
export const timeoutCheckMs = 1_000;

/** Memory that is taken for a body before its bytes come: most bodies are smaller. */
export const bodyBytesAhead = 2 * 1024 * 1024;
