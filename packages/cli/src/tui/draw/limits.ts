import { millis } from "palimpsest/internal/schema/brand";

/** Lines of a diff under a folded call: enough to see what kind of change it is, few enough that ten of them fit a screen. */
export const foldedDiffLinesMax = 12;
/** Queued messages shown: they stand between the chat and the editor and take room from both. */
export const queueShownMax = 3;
/** Of a provider's message, so that the seconds left still stand in the same lines. */
export const retryMessageCharsMax = 200;
/** Looked at for a line that is cut: no terminal is wider, and a minified file has lines of megabytes. */
export const cutLineCharsMax = 4_000;
/** A tab in what is drawn. The terminal's own stops would not count from where the text begins. */
export const tabColumns = 4;
/** Of the model's name in the status line: longer ones are paths of a local model. */
export const modelColumnsMax = 28;
/** The context bar: one cell for a tenth. */
export const barCells = 10;
/** Of an image, so that the text around it stays on the screen. */
export const imageRowsMax = 20;
export const imageColumnsMax = 60;
/** How long a frame of the spinner stands: quick enough to look alive, slow enough to cost nothing. */
export const spinnerFrameMs = millis(80);
/** Of code that is still being said, lines drawn again with each frame before the older ones are kept: about a screen. */
export const openCodeLinesMax = 20;
/** An agent that is there within it needs no spinner: one that comes and goes is only a flicker. */
export const openingQuietMs = millis(1_000);
/** Of a block that is still being said, as much is drawn with each frame: some milliseconds. */
export const openCharsFree = 4_000;
/** A longer one, once drawn, rests for so many times as long as that took: of a hundred keys, at most four wait for it. */
export const openRestShare = 25;
