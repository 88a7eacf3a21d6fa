/** Connections to one origin. Each running reply holds one; more requests wait. */
export const upstreamConnectionsMax = 1_024;

export const connectMsMax = 10_000;

/** For one of them, if all have a reply: longer than a connection takes. */
export const connectionWaitMsMax = 30_000;

/** Until the head of a reply. A reply that is not streamed has none before its last token: the SDKs wait as long. */
export const replyHeadMsMax = 600_000;

/** Between two chunks of a reply. Streams of the providers hold pings, every few seconds. */
export const replyIdleMsMax = 300_000;

/** Shorter than servers and load balancers keep an idle connection, so that we close it, and not they under our request. */
export const connectionIdleMs = 4_000;

/** What is held of a reply that its client reads slowly; then the upstream has to wait. */
export const heldReplyBytesMax = 256 * 1024;

/**
 * A connection that the upstream closed while it was idle fails in the first moments of the next request. Later than this
 * the upstream may have worked on it.
 */
export const staleConnectionMs = 1_000;
