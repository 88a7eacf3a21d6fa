import { bytes } from "../schema/brand.ts";

/** What detection looks at: enough for a first record with a long system prompt in it, small beside any session. */
export const headBytes = bytes(64 * 1024);

/** A file that has to be translated is held whole, as text and again as entries; V8 ends strings at 512 MiB. */
export const translatedBytesMax = bytes(256 * 1024 * 1024);

/** Different details that a note spells out: a damaged file may have a thousand damaged lines. */
export const noteDetailsMax = 5;

/** Codex keeps this much of what people typed when it compacts without recording the new history: 20,000 tokens. */
export const codexKeptCharsMax = 80_000;
