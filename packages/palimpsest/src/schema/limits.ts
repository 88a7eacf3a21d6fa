/** The API takes no longer name of a tool, in its definition and in a call, also of long ago. */
export const toolNameCharsMax = 128;

/** Each pass drops what is wrong and perhaps leaves its parent without what it must have: as many as values are deep, and some. */
export const fittingPassesMax = 10;
