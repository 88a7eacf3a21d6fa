import { bytes, millis } from "../schema/brand.ts";

/** A settings file is written by hand: a larger one is something else. */
export const settingsFileBytesMax = bytes(1_000_000);

/** Windows that are remembered; the oldest go first. */
export const learnedWindowsMax = 500;

/** Models whose sizes are remembered; those asked for longest ago go first. */
export const declaredModelsMax = 200;

/** Sets of prompts and tools whose counts are remembered: a session in another folder or on another day has another prompt. */
export const countedPartsMax = 100;

/**
 * How long what a server said counts. Providers change a model's window rarely, and an error teaches a smaller one at
 * once; how a model counts they don't change at all.
 */
export const answerMillisMax = millis(7 * 24 * 3_600_000);

/** Editors write a file in several steps, and one change gives several events: look once they have settled. */
export const watchSettleMs = millis(80);

/** How often arming the watches may find that folders came or went meanwhile. */
export const armTriesMax = 5;

/** All hooks of one event start at once. */
export const hooksPerFileMax = 100;

/** Each is a process of its own. */
export const serversPerFileMax = 50;

/** How much of a wrong value a message quotes. */
export const quotedCharsMax = 40;
