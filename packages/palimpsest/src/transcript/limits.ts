import { bytes } from "../schema/brand.ts";

/** Twice what the API takes in one request: a longer line can't be sent whatever it holds, and parsing it would take gigabytes. */
export const lineBytesMax = bytes(64 * 1024 * 1024);

/** Where a record may begin inside a damaged line. Each try parses what follows, so the number is bounded. */
export const salvageTriesMax = 256;

/** Salvage looks for whole records inside lines up to this size; beyond it the whole line counts as damaged. */
export const salvageBytesMax = bytes(8 * 1024 * 1024);

/** How far behind the leaf a sibling may branch off and still be taken into the path without resolving it anew. */
export const branchLookBackMax = 256;

/** Undos of a path behind which it is told as it was then: each folds the path once more. */
export const stretchesMax = 16;
