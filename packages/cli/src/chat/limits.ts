import { extractCloseWaitMillisMax } from "palimpsest/internal/layers/5-extract/limits";
import { millis } from "palimpsest/internal/schema/brand";

/** How long leaving waits for what still runs: if it took longer, users would kill the process. */
export const closeMillisMax = millis(5_000);

/** How long leaving waits if memories are being extracted: as long as the extraction may take then, and a moment to close. */
export const leaveMillisMax = millis(extractCloseWaitMillisMax + 2_000);

/**
 * Idle time after which hooks hear that the agent waits for the user: a user who is just reading needs no notification.
 */
export const idleNotificationMillis = millis(60_000);

/** Interval between two checks of the background jobs, while there are some: they end without an event. */
export const jobsPollMillis = millis(1_000);

/** A draft is stored at most this often: otherwise every key would be a write. */
export const draftSaveMillis = millis(1_000);

/** A larger file is not ours, or damaged. */
export const unsentInputBytesMax = 8 * 2 ** 20;

/** A larger log is not read again to show what precedes its last boundary: the prompt must not wait for it. */
export const pastBytesMax = 32 * 2 ** 20;

/** A line that comes sooner was typed before the question was shown, and does not answer it. */
export const answerGuardMillis = millis(300);

/** Lines shown of a change that needs approval: a few screens, which a plain terminal scrolls through. */
export const changeLinesMax = 200;
/** Characters of one such line, or of a tool's input: nobody writes longer lines by hand. */
export const changeLineCharsMax = 2_000;

/** Two interrupts within this time leave the chat. */
export const secondInterruptMillis = millis(2_000);

/** Choices listed: a plain terminal has no list to move in. */
export const choicesListedMax = 50;

/** Characters of a message in a list or a sentence: enough to recognise it. */
export const messageCharsMax = 120;

/** Characters shown for an id: a few screens. For more, the user takes a pager. */
export const recalledCharsMax = 16_000;

/** Lines of a job's output: a few screens from its end. */
export const jobLinesMax = 200;

/** What is shown of the passages before and after a place that was found: enough to recognise them. */
export const neighbourChars = 240;

/** Lines of an agent's conversation: about a screen from its end. */
export const agentLinesMax = 60;
