import { bytes, millis } from "../../schema/brand.ts";

/** What the provider's stores of memories allow for one text, so that a directory can move there. */
export const memoryBytesMax = bytes(102_400);
/** As there: bytes and parts of a path. */
export const memoryPathBytesMax = 1_024;
export const memoryPathPartsMax = 20;
/** Common file systems allow 255 bytes for a name; this leaves room for the suffix of a temporary file. */
export const memoryNameBytesMax = 180;
/** Five times what recall looks at. A directory with more needs tidying up, and each look at it would be slow. */
export const memoryFilesMax = 1_000;
/** A line of `memory log`. */
export const memoryMessageCharsMax = 200;
/** The front matter of one memory: three short lines. More is text, not front matter. */
export const frontMatterLinesMax = 60;
export const memoryNameCharsMax = 120;
export const memoryDescriptionCharsMax = 300;

/** What goes into the context at the start: Claude Code's own limits, which models and users know. */
export const indexLinesMax = 200;
export const indexBytesMax = bytes(25_000);
/** The aim for one line of the index. */
export const indexLineChars = 150;

/** Recall for one message: files scanned and shown, and what is shown of each; for a session all together. */
export const relevantScannedMax = 200;
export const relevantFilesMax = 5;
export const relevantLinesMax = 200;
export const relevantBytesMax = bytes(4 * 1024);
export const relevantSessionBytesMax = bytes(60 * 1024);

/** Names in one memory that are looked up in the working tree. */
export const driftNamesMax = 40;
/** Names looked up for all memories together at the start of a session. */
export const driftLookupsMax = 1_000;
/** The first prompt waits for it: after this time the other memories are shown without a flag. */
export const driftTimeMsMax = millis(1_000);
/** A drift check of the same memory is repeated after this time: the tree changes while one works. */
export const driftFreshMs = millis(60_000);

/** Of one answer of the memory tool, as its documentation says. */
export const toolAnswerCharsMax = 16_000;

/** Changes in one answer of a fork without a memory tool: more than a consolidation of a full index makes. */
export const appliedWritesMax = 400;
