import { bytes, millis } from "palimpsest/internal/schema/brand";

/** Maximum size of one page after decompression: more is not a page to read. */
export const webBytesMax = bytes(10 * 2 ** 20);
/** For the name lookup, all redirects and the whole body together. */
export const webTimeoutMs = millis(30_000);
/** Within one host: more means a loop. */
export const webRedirectsMax = 5;
/** Longer addresses are data being smuggled out in a URL. */
export const webUrlCharsMax = 2_000;
/** Longer pages go to a blob; the head stays in the view. */
export const webResultCharsMax = 30_000;

/** How long a page counts as current. */
export const pageKeptMs = millis(15 * 60_000);
/** Pages kept, and the total of their text: the oldest are dropped first. */
export const pagesMax = 50;
export const pagesCharsMax = 20_000_000;

/** A longer link text is a clickable part of the page: it is shown without the address. */
export const linkTextCharsMax = 300;
/** Deeper lists are shown at this depth: indentation must not outgrow the page. */
export const listDepthMax = 8;
/** Maximum length of a page's source: converting a million characters takes about 0.1 to 1 seconds, in slices. */
export const htmlCharsMax = 1_000_000;
/** Maximum length of a plain-text body: the search for frame marks scans it in one go, about 20 milliseconds. */
export const textCharsMax = 3_000_000;
/**
 * How long the rest of the process waits at most while a page is converted: a screen stutters above about 50
 * milliseconds.
 */
export const sliceMs = millis(15);
/** One step of a slice: characters of a plain text, of a page's source, and lines of its result. None takes more than about 2 milliseconds. */
export const textPieceChars = 32_000;
export const sourcePieceChars = 1_000;
export const stepLines = 32;
/** A title is one line on the screen. */
export const titleCharsMax = 1_000;
