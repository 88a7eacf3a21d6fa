/** Bytes of a reply that is not streamed. A larger one passes unread. */
export const wholeReplyBytesMax = 64 * 2 ** 20;

/** Bytes of an error that is read before it is passed on. A larger one says nothing that helps. */
export const errorBytesMax = 2 ** 20;

/** How long providers keep a prefix in their cache, at least. */
export const cacheMs = 300_000;

/** How late the end of a connection is noticed at most, if its client is on this machine. The first request of a run that begins like another one waits that long. */
export const closeMsMax = 50;
