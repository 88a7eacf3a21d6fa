/** Bytes of a reply that is read whole: one that is not streamed, or an error. */
export const heldErrorBytesMax = 64 * 2 ** 20;
