/** Of a line carried over from the summary before. */
export const previousLineChars = 500;
/** Of a request quoted in the first section: the sixth has it whole. */
export const requestTokensMax = 400;
/** Of the plan in force. */
export const planTokensMax = 800;
/** Commands and files read that are worth a line. */
export const commandLinesMax = 40;
export const fileReadLinesMax = 40;
/** Of the section of files, at most: the rest of its room goes to what the user said. */
export const fileReadShare = 1 / 4;
/** Kinds of files and names of tools. */
export const kindsMax = 12;
/** How often a summary is made anew because its parts counted less than the whole. */
export const extractFitTriesMax = 6;
/** What the line costs that says how many were left out. */
export const leftOutLineTokens = 16;
/** Of a tool's name: servers' tools have long ones. */
export const toolNameChars = 60;
