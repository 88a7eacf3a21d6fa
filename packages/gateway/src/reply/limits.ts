/** An event is held until it is complete. The largest real ones hold a whole response with images; more is no event. */
export const eventBytesMax = 64 * 1024 * 1024;
