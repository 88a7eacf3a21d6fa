/* The bridge runs inside the sandbox, where no other package of ours can be read: this file imports nothing. */

/** Of one command at once: package managers open some dozens; more is a loop. */
export const proxyConnectionsMax = 256;

/** Of one frame: a connection with much to say lets the others in between. */
export const carriedFrameBytesMax = 32 * 2 ** 10;

/** Bytes of one connection that may be under way: what all of them together may take of memory is some 64 MiB. */
export const carriedWindowBytes = 256 * 2 ** 10;
