import { bytes, millis } from "palimpsest/internal/schema/brand";

/** Of one page, once it is unpacked: more is no page to read. */
export const webBytesMax = bytes(10 * 2 ** 20);
/** For looking up the name, every redirect and the whole body together. */
export const webTimeoutMs = millis(30_000);
/** Within one host: more is a circle. */
export const webRedirectsMax = 5;
/** Longer addresses are data that leaves in the guise of one. */
export const webUrlCharsMax = 2_000;
/** Longer pages go to a blob; the head stays in the view. */
export const webResultCharsMax = 30_000;

/** How long a page counts as what the address says now. */
export const pageKeptMs = millis(15 * 60_000);
/** Pages kept, and their text together: the oldest go first. */
export const pagesMax = 50;
export const pagesCharsMax = 20_000_000;

/** A tag that does not end within this is none: a bound on how often a hostile page is looked at again. */
export const tagCharsMax = 10_000;
/** A longer text of a link is a part of the page that can be clicked: told without the address. */
export const linkTextCharsMax = 300;
/** Deeper lists are told at this depth: what is put in front of each item must not outgrow the page. */
export const listDepthMax = 8;
/** Of a page's source: making text of it takes some 0.1 to 1 seconds for a million characters, in slices. */
export const htmlCharsMax = 1_000_000;
/** Of what is text already: the frame around it is looked for in the whole at once, some 20 milliseconds. */
export const textCharsMax = 3_000_000;
/** What others of the process wait at most while a page is read: a screen stutters above some 50 milliseconds. */
export const sliceMs = millis(15);
/** One step of a slice, some 2 milliseconds at worst; and tags, of which each takes microseconds, as looking at the clock does. */
export const textPieceChars = 32_000;
export const stepTokens = 32;
/** A title is one line for people. */
export const titleCharsMax = 1_000;
