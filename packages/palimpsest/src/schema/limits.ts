/** The API's limit for a tool's name, in definitions and in calls, including old calls. */
export const toolNameCharsMax = 128;

/** Each pass drops invalid values, which may make their parent invalid: as many passes as values are nested, and some more. */
export const fittingPassesMax = 10;
