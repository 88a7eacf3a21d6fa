import { millis } from "palimpsest/internal/schema/brand";

/** Lines of either side that are compared: more is no edit that anybody reads line by line. */
export const diffLinesMax = 5_000;
/** Differences looked for; beyond them the whole middle is shown as replaced. Time grows with their square. */
export const diffStepsMax = 400;
/** Unchanged lines around a change. */
export const diffContextLines = 3;

/** Of what a call is about, where one line is shown: no terminal is wider. */
export const titleCharsMax = 300;

/** Of a message, what is drawn until somebody wants the rest: more is a document that was pasted. */
export const messageLinesMax = 20;
export const messageCharsMax = 2_000;

/** Messages remembered for a project. */
export const historyEntriesMax = 1_000;
/** The file may grow to this many before it is written anew: then not every message rewrites it. */
export const historyLinesMax = 2 * historyEntriesMax;
/** A longer message is remembered for the session only: it is a document, not something typed. */
export const historyEntryCharsMax = 20_000;
/** A larger file is not ours, or damaged: it is left alone. */
export const historyBytesMax = 64 * 2 ** 20;

/** Files known for completion: as many as `glob` compares. */
export const completionFilesMax = 50_000;
/** Looked at between two pauses: few enough that no key waits for them. */
export const completionSliceFiles = 1_000;
/** Candidates that are offered, files or what a command takes; whoever wants another types another letter. */
export const completionsMax = 20;
/** Lines that a status line command may fill: more would push the chat away. */
export const statuslineLinesMax = 3;
/** A longer query is no name of a file. */
export const completionQueryCharsMax = 200;
/** Files made since are found when a list is older than this. */
export const completionListMs = millis(30_000);

/** What was typed for the editor must not answer a dialog that comes up meanwhile: nobody reads it sooner than this. */
export const shownBeforeAnswerMs = millis(800);
/** And so long nobody may have pressed a key: longer than most pauses between two words. */
export const quietBeforeAnswerMs = millis(500);

/** Of the terminal, for the status line, a spinner and a line of the chat. */
export const dialogRowsKept = 6;
/** Less shows nothing that can be decided about. */
export const dialogRowsMin = 8;
/** Of the choices, where there are hardly any rows; those that are left out are counted. */
export const dialogMenuRowsMin = 6;
/** Of the text above the choices, its place in the whole included: fewer can't be read in. */
export const dialogBodyRowsMin = 4;
/** Choices of a long list that are seen at once: more hide the chat. */
export const listRowsMax = 15;
/** Of one choice: a longer text is cut. */
export const choiceLinesMax = 4;

/** Of a text that is asked about; what is beyond is counted. Laying it out takes up to half a second, once for a width. */
export const dialogBodyCharsMax = 100_000;
/** What a tool is given, as JSON: a longer one is easier to read with a line for each field. */
export const shortInputCharsMax = 80;
/** A longer rule can't be overseen, so it is not offered. */
export const ruleCharsMax = 300;
/** Of a title or of what stands in a line of its own. */
export const dialogLineCharsMax = 500;
/** A pasted text in a line of input: more is no line. */
export const linePasteCharsMax = 20_000;
/** Of a choice, however long the description behind it is. */
export const labelColumnsMin = 40;

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

/** Within it a second Ctrl-C quits, and a second Esc clears: longer than a double press, shorter than a second thought. */
export const doublePressMillis = millis(1_000);
/** Of a session that is gone on with, what is drawn at once: a few screens. The rest is a key away. */
export const resumedItemsShown = 25;
/** Candidates shown at once below the editor. */
export const candidatesShown = 8;
/** How long the first letters of a file's name wait for the list of files, where it has none yet. */
export const firstFilesMillis = millis(300);
/** How long a size must hold before it is drawn for: longer than between two sizes of a window that is dragged, and hardly seen. */
export const resizeQuietMillis = millis(40);

/** Seen above the item that is selected. */
export const viewerContextLines = 2;
/** Drawn at once when the viewer opens: what a high terminal shows. */
export const viewerFirstLines = 150;
/** Drawn between two looks at the keyboard: some milliseconds of Markdown. */
export const viewerSliceLines = 80;
/** Of pi-tui's search box: its three lines and the one that it leaves free above. */
export const viewerSearchRows = 4;
