/** The limit of the Messages API. A larger body is not buffered and read, but streamed on. */
export const bodyBytesMax = 32 * 1024 * 1024;

/** Other paths are streamed and not buffered. OpenAI's Files API, which takes the largest ones, has this limit. */
export const passedBodyBytesMax = 512 * 1024 * 1024;

/** Between two chunks of a body: no network pauses that long, so the client has stopped sending. */
export const bodyIdleMsMax = 30_000;

/** A whole body: 32 MB over a slow line. */
export const bodyMsMax = 300_000;

/** Until the end of the headers: slow clients that open many connections (slowloris) must not keep them. */
export const headMsMax = 15_000;

/** Node's default is 16 KB, but some clients describe their turn in headers. */
export const headBytesMax = 64 * 1024;

/** Longer than clients keep an idle connection, so that the client closes it first and never sends a request into a connection we are closing. */
export const clientIdleMs = 65_000;

/** Far more than the clients of a team open; it bounds memory and file descriptors. */
export const clientConnectionsMax = 4_096;

/** How long a client may read nothing of its reply, as long as the upstream may be silent. Then its upstream connection is freed for others. */
export const stalledClientMsMax = 300_000;

/** How long the rest of a refused body is read and dropped, so that the client can read the refusal. */
export const lingerMs = 2_000;

/** Longer than any path and query of the model APIs; common servers have the same limit. */
export const pathCharsMax = 8_192;

/** A folder's path. Encoded as base64url it still fits `pathCharsMax`. */
export const projectCharsMax = 1_024;

/** How often the time limits of headers and bodies are checked. */
export const timeoutCheckMs = 1_000;

/** How long a client may read the answer to a malformed request before its connection is closed. */
export const malformedLingerMs = 1_000;

/** Memory that is allocated for a body before its bytes arrive. Most bodies are smaller, and a false content-length must not cost more. */
export const bodyBytesAhead = 2 * 1024 * 1024;
