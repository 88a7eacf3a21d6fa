/** An event is buffered until it is complete. The largest real ones contain a whole response with images. */
export const eventBytesMax = 64 * 1024 * 1024;
