/**
 * Values nested in values. Requests have about ten; a schema of a tool may have some tens. Deeper ones would end the stack
 * of functions that walk a value, so such a body is not read and passes as it is.
 */
export const depthMax = 500;

/** Bytes that are compared at once: large enough that the call costs nothing, small enough that a difference is found soon. */
export const comparedBytes = 65_536;

/** Below this, a loop over the bytes finds a difference sooner than another comparison. */
export const comparedBytesMin = 64;
