import { millis } from "palimpsest/internal/schema/brand";

/** Within it a second Ctrl-C quits, and a second Esc clears: longer than a double press, shorter than a second thought. */
export const twiceMillis = millis(1_000);
/** Of a session that is gone on with, what is drawn at once: a few screens. The rest is a key away. */
export const resumedItemsShown = 25;
/** Candidates shown at once below the editor. */
export const candidatesShown = 8;
/** How long the first letters of a file's name wait for the list of files, where it has none yet. */
export const firstFilesMillis = millis(300);
/** How long a size must hold before it is drawn for: longer than between two sizes of a window that is dragged, and hardly seen. */
export const resizeQuietMillis = millis(40);
