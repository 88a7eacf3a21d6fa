import { bytes } from "../schema/brand.ts";

/** Twice the API's limit for one request: a longer line can't be sent anyway, and parsing it would take gigabytes of memory. */
export const lineBytesMax = bytes(64 * 1024 * 1024);

/**
 * Positions in a damaged line at which salvage looks for the start of a record. Each try parses what follows, so the
 * number is bounded.
 */
export const salvageTriesMax = 256;

/** Salvage looks for whole records inside lines up to this size; a longer line counts as damaged as a whole. */
export const salvageBytesMax = bytes(8 * 1024 * 1024);

/** How far before the leaf a sibling may branch off and still be added to the path without resolving the path again. */
export const branchLookBackMax = 256;

/** Undos of a path for which the view is replayed as it was then: each folds the path once more. */
export const stretchesMax = 16;
