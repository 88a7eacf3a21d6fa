import { bytes, millis } from "../schema/brand.ts";

// Settings files.

/** A settings file is written by hand: a larger file is something else. */
export const settingsFileBytesMax = bytes(1_000_000);

/** All hooks of one event start at once. */
export const hooksPerFileMax = 100;

/** Each MCP server is a process. */
export const serversPerFileMax = 50;

/** How much of a wrong value a message quotes. */
export const quotedCharsMax = 40;

// Watching settings files.

/** Editors write a file in several steps, and one change gives several events: the file is read once they have settled. */
export const watchSettleMs = millis(80);

/** Tries to set up the watches if folders appear or disappear meanwhile. */
export const armTriesMax = 5;

// What is remembered about models.

/** Learned windows; the oldest are forgotten first. */
export const learnedWindowsMax = 500;

/** Models whose sizes are remembered; the least recently used are forgotten first. */
export const declaredModelsMax = 200;

/** Sets of prompts and tools whose counts are remembered: another folder or another day has another prompt. */
export const countedPartsMax = 100;

/**
 * How long a server's answer is valid. Providers rarely change a model's window, and an error teaches a smaller one at
 * once; they never change how a model counts.
 */
export const answerMillisMax = millis(7 * 24 * 3_600_000);
