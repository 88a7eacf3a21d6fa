import { millis } from "palimpsest/internal/schema/brand";

// Diffs

/** Diff lines under a folded call: enough to see the kind of change, few enough that ten such calls fit a screen. */
export const foldedDiffLinesMax = 12;

// Chat items

/** The one-line title of a call: no terminal is wider. */
export const titleCharsMax = 300;
/** The part of a user message that is drawn folded: a longer one is a pasted document. */
export const messageLinesMax = 20;
export const messageCharsMax = 2_000;
/** A provider's error message is cut here, so that the seconds left still fit. */
export const retryMessageCharsMax = 200;
/** Characters that are measured when a line is cut: no terminal is wider, and a minified file has lines of megabytes. */
export const cutLineCharsMax = 4_000;
/** Width of a tab: the terminal's own tab stops would not count from where the text begins. */
export const tabColumns = 4;
/** Keeps the text around an image on the screen. */
export const imageRowsMax = 20;
export const imageColumnsMax = 60;
/** Items of a resumed session that are drawn at once: a few screens. A key shows the rest. */
export const resumedItemsShown = 25;

// Streaming Markdown

/** Lines of a growing code block that are drawn with each frame, before the older ones are kept: about a screen. */
export const openCodeLinesMax = 20;
/** Characters of a growing block that may be drawn with each frame: some milliseconds. */
export const openCharsFree = 4_000;
/** After a longer block was drawn, it rests for this many times the drawing time: at most four of a hundred keys wait. */
export const openRestShare = 25;

// Status line, spinner and queue

/** Lines that a status line command may fill: more would push the chat away. */
export const statuslineLinesMax = 3;
/** Columns of the model's name: longer names are paths of local models. */
export const modelColumnsMax = 28;
/** Cells of the context bar: one for each tenth. */
export const barCells = 10;
/** Duration of a spinner frame: short enough to look alive, long enough to cost nothing. */
export const spinnerFrameMs = millis(80);
/** An agent that opens within this time gets no spinner: it would only flicker. */
export const openingQuietMs = millis(1_000);
/** Queued messages shown: they take room from the chat and the editor. */
export const queueShownMax = 3;

// Input history

/** Messages remembered for a project. */
export const historyEntriesMax = 1_000;
/** The file is rewritten only when it has this many lines, so that not every message rewrites it. */
export const historyLinesMax = 2 * historyEntriesMax;
/** A longer message is remembered for the session only: it is a document, not something typed. */
export const historyEntryCharsMax = 20_000;
/** A larger file is not ours, or damaged: it is left alone. */
export const historyBytesMax = 64 * 2 ** 20;

// Completion

/** Files known for completion: as many as `glob` compares. */
export const completionFilesMax = 50_000;
/** Files scored before the event loop gets a turn: few enough that no key is delayed. */
export const completionSliceFiles = 1_000;
/** Candidates offered, whether files or command arguments: for another one the user types another letter. */
export const completionsMax = 20;
/** A longer query is no file name. */
export const completionQueryCharsMax = 200;
/** Age at which the list of files is read again, to find new ones. */
export const completionListMs = millis(30_000);
/** Candidates shown at once below the editor. */
export const candidatesShown = 8;
/** How long the first completion waits for the list of files. */
export const firstFilesMillis = millis(300);

// Dialogs

/** Keys typed for the editor must not answer a dialog that opens meanwhile: nobody reads a dialog faster than this. */
export const shownBeforeAnswerMs = millis(800);
/** A key only answers after this long without another: longer than most pauses between two words. */
export const quietBeforeAnswerMs = millis(500);
/** Terminal rows left for the status line, a spinner and a line of the chat. */
export const dialogRowsKept = 6;
/** With fewer rows there is not enough to decide on. */
export const dialogRowsMin = 8;
/** Rows of the choices on a small terminal; the hidden ones are counted. */
export const dialogMenuRowsMin = 6;
/** Rows of the text above the choices, the scroll position included: fewer are not readable. */
export const dialogBodyRowsMin = 4;
/** Choices of a long list shown at once: more would hide the chat. */
export const listRowsMax = 15;
/** A choice with more lines is cut. */
export const choiceLinesMax = 4;
/** Characters of a dialog's text; the rest is counted. Layout takes up to half a second, once per width. */
export const dialogBodyCharsMax = 100_000;
/** A tool's input up to this length is shown as one line of JSON: a longer one reads better with a line per field. */
export const shortInputCharsMax = 80;
/** A longer allow rule is not offered: the user could not judge it. */
export const ruleCharsMax = 300;
/** Characters of a title, or of another text in a single line. */
export const dialogLineCharsMax = 500;
/** Characters pasted into a one-line field. */
export const linePasteCharsMax = 20_000;
/** Columns that a choice's label keeps, however long the description behind it is. */
export const labelColumnsMin = 40;

// Keyboard and screen

/** Within it a second Ctrl-C quits and a second Esc clears: longer than a double press, shorter than a change of mind. */
export const doublePressMillis = millis(1_000);
/** How long a size must hold before it is drawn: longer than between two sizes of a dragged window, and hardly noticed. */
export const resizeQuietMillis = millis(40);

// Viewer

/** Lines shown above the selected item. */
export const viewerContextLines = 2;
/** Drawn at once when the viewer opens: what a tall terminal shows. */
export const viewerFirstLines = 150;
/** Drawn before the keyboard is read again: some milliseconds of Markdown. */
export const viewerSliceLines = 80;
/** Rows of pi-tui's search box: its three lines and an empty one above. */
export const viewerSearchRows = 4;

/** While another conversation is shown, it is looked at this often: agents take seconds for a step. */
export const viewerRefreshMs = millis(1_000);
