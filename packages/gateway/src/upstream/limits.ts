/** Connections to one origin. Each running reply uses one; further requests wait. */
export const upstreamConnectionsMax = 1_024;

/** TCP and TLS take less than a second; a host that needs longer is down. */
export const connectMsMax = 10_000;

/** How long a request waits for a free connection if all are in use. Longer than it takes to open one. */
export const connectionWaitMsMax = 30_000;

/** Until the headers of a reply. Without streaming they come only after the last token; the SDKs wait as long. */
export const replyHeadMsMax = 600_000;

/** Between two chunks of a reply. The providers send pings every few seconds. */
export const replyIdleMsMax = 300_000;

/** Shorter than servers and load balancers keep an idle connection, so that we close it first and never send a request into a connection they are closing. */
export const connectionIdleMs = 4_000;

/** Bytes buffered for a client that reads slowly. Beyond this, reading from the upstream pauses. */
export const replyBufferBytesMax = 256 * 1024;

/**
 * A connection that the upstream closed while it was idle fails in the first moments of the next request. Later than this
 * the upstream may have worked on it.
 */
export const staleConnectionMs = 1_000;
