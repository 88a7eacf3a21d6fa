/**
 * Nesting depth. Requests have about ten levels; a tool's schema may have tens. Deeper values could overflow the stack of
 * functions that walk them, so such a body is not parsed and passes unchanged.
 */
export const depthMax = 500;

/** Bytes compared at once: large enough to make the cost of the call negligible, small enough to find a difference soon. */
export const comparedBytes = 65_536;

/** Below this, a loop over the bytes finds a difference sooner than another comparison. */
export const comparedBytesMin = 64;

/**
 * How much the heap grows before the next full collection, each of which stops all replies for 10 to 20 ms. With 200 there are half as many as with 100, but 10,000 conversations that are opened
 * quickly took up to 890 MB instead of 480 MB.
 */
export const heapGrowingPercent = 100;
