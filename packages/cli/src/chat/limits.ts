import { millis } from "palimpsest/internal/schema/brand";

/** For whatever still runs when a person leaves: longer, and they would end the process themselves. */
export const closeMillisMax = millis(5_000);

/** Hooks are told that a person is waited for when the prompt has been idle this long: who just reads needs no call. */
export const idleNotificationMillis = millis(60_000);

/** Between two looks at the jobs in the background, while there are some: they end without an event. */
export const jobsPollMillis = millis(1_000);

/** A text that nobody has sent yet is kept at most this often: every key would be a write. */
export const draftSaveMillis = millis(1_000);

/** A larger file is none of ours, or damaged. */
export const unsentInputBytesMax = 8 * 2 ** 20;

/** A larger log is not read again to show what stands before its last boundary: the prompt must not wait for it. */
export const pastBytesMax = 32 * 2 ** 20;

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

/** Of a message where it stands in a list or is named in a sentence: enough to know it again. */
export const messageCharsMax = 120;

/** Of what an id stands for: some screens. Who wants more wants it in a pager. */
export const recalledCharsMax = 16_000;

/** Of what a job has written: some screens from its end. */
export const jobLinesMax = 200;
