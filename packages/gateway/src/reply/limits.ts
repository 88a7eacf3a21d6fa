/** An event is buffered until it is complete. The largest real ones contain a whole response with images. */
export const eventBytesMax = 64 * 1024 * 1024;

/** JSON of events that were relayed but not read yet: reading as much takes about a millisecond. */
export const unobservedCharsMax = 65_536;
