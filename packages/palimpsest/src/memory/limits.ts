import { bytes } from "../schema/brand.ts";

/** A larger file is data, not instructions: it is not read. */
export const instructionFileBytesMax = bytes(4 * 2 ** 20);
/** Every request carries it: a longer one is said. */
export const instructionCharsLong = 40_000;
/** Of all files together; what comes after is left out and said. */
export const instructionCharsMax = 200_000;
export const instructionFilesMax = 100;
/** From a file to one that it imports, and on from there. */
export const importHopsMax = 4;
/** Looked for on the disk for one file's sake. */
export const importsPerFileMax = 100;
