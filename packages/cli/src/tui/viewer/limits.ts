/** Seen above the item that is selected. */
export const contextLines = 2;
/** Drawn at once when the viewer opens: what a high terminal shows. */
export const firstLines = 150;
/** Drawn between two looks at the keyboard: some milliseconds of Markdown. */
export const sliceLines = 80;
/** Of pi-tui's search box: its three lines and the one that it leaves free above. */
export const searchRows = 4;
