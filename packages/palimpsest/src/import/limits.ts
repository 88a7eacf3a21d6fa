import { bytes } from "../schema/brand.ts";

/** Detection reads this much: enough for a first record with a long system prompt, and little compared with a session. */
export const headBytes = bytes(64 * 1024);

/** A file to be translated is held in memory as text and again as entries; V8 limits strings to 512 MiB. */
export const translatedBytesMax = bytes(256 * 1024 * 1024);

/** The number of different details that a note lists: a damaged file may have a thousand damaged lines. */
export const noteDetailsMax = 5;

/** When Codex compacts without recording the new history, it keeps this much of what the user typed: 20,000 tokens. */
export const codexKeptCharsMax = 80_000;
