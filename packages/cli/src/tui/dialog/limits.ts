import { millis } from "palimpsest/internal/schema/brand";

/** What was typed for the editor must not answer a dialog that comes up meanwhile: nobody reads it sooner than this. */
export const shownBeforeAnswerMs = millis(800);
/** And so long nobody may have pressed a key: longer than most pauses between two words. */
export const quietBeforeAnswerMs = millis(500);

/** Of the terminal, for the status line, a spinner and a line of the chat. */
export const rowsKept = 6;
/** Less shows nothing that can be decided about. */
export const rowsMin = 8;
/** Of the choices, where there are hardly any rows; those that are left out are counted. */
export const menuRowsMin = 6;
/** Of the text above the choices, its place in the whole included: fewer can't be read in. */
export const bodyRowsMin = 4;
/** Choices of a long list that are seen at once: more hide the chat. */
export const listRowsMax = 15;
/** Of one choice: a longer text is cut. */
export const choiceLinesMax = 4;

/** Of a text that is asked about; what is beyond is counted. Laying it out takes up to half a second, once for a width. */
export const bodyCharsMax = 100_000;
/** What a tool is given, as JSON: a longer one is easier to read with a line for each field. */
export const shortInputCharsMax = 80;
/** A longer rule can't be overseen, so it is not offered. */
export const ruleCharsMax = 300;
/** Of a title or of what stands in a line of its own. */
export const lineCharsMax = 500;
/** A pasted text in a line of input: more is no line. */
export const linePasteCharsMax = 20_000;
/** Of a choice, however long the description behind it is. */
export const labelColumnsMin = 40;
