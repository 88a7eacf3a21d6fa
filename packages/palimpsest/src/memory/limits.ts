import { bytes } from "../schema/brand.ts";

/** A larger file is data, not instructions, and is not read. */
export const instructionFileBytesMax = bytes(4 * 2 ** 20);
/** A longer file is reported, since every request carries it. */
export const instructionCharsLong = 40_000;
/** For all files together. What exceeds it is left out and reported. */
export const instructionCharsMax = 200_000;
export const instructionFilesMax = 100;
/** The longest chain of imports. */
export const importHopsMax = 4;
/** The most imports of one file that are looked up on disk. */
export const importsPerFileMax = 100;
