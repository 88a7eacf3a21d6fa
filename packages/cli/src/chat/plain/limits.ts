import { millis } from "palimpsest/internal/schema/brand";

/** A line that comes sooner was typed before the question was there, and is no answer to it. */
export const answerGuardMillis = millis(300);

/** Of a change that is asked about: some screens, which a plain terminal scrolls through. */
export const changeLinesMax = 200;
/** Of a line of it, or of what a tool is given: more is no line that anybody wrote. */
export const changeLineCharsMax = 2_000;

/** Two interrupts within this time leave the chat. */
export const secondInterruptMillis = millis(2_000);

/** Choices that are listed: a plain terminal has no list to move in. */
export const choicesListedMax = 50;
