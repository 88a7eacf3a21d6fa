import { millis } from "palimpsest/internal/schema/brand";

/** Lines of either side that are compared: more is no edit that anybody reads line by line. */
export const diffLinesMax = 5_000;
/** Differences looked for; beyond them the whole middle is shown as replaced. Time grows with their square. */
export const diffStepsMax = 400;
/** Unchanged lines around a change. */
export const diffContextLines = 3;

/** Of what a call is about, where one line is shown: no terminal is wider. */
export const titleCharsMax = 300;

/** Of a message, what is drawn until somebody wants the rest: more is a document that was pasted. */
export const messageLinesMax = 20;
export const messageCharsMax = 2_000;

/** Messages remembered for a project. */
export const historyEntriesMax = 1_000;
/** The file may grow to this many before it is written anew: then not every message rewrites it. */
export const historyLinesMax = 2 * historyEntriesMax;
/** A longer message is remembered for the session only: it is a document, not something typed. */
export const historyEntryCharsMax = 20_000;
/** A larger file is not ours, or damaged: it is left alone. */
export const historyBytesMax = 64 * 2 ** 20;

/** Files known for completion: as many as `glob` compares. */
export const completionFilesMax = 50_000;
/** Looked at between two pauses: few enough that no key waits for them. */
export const completionSliceFiles = 1_000;
/** Candidates that are offered, files or what a command takes; whoever wants another types another letter. */
export const completionsMax = 20;
/** Lines that a status line command may fill: more would push the chat away. */
export const statuslineLinesMax = 3;
/** A longer query is no name of a file. */
export const completionQueryCharsMax = 200;
/** Files made since are found when a list is older than this. */
export const completionListMs = millis(30_000);
