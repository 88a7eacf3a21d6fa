import { bytes, millis } from "palimpsest/internal/schema/brand";

/** Long enough for a linter or a test, short enough for the user to notice that something is wrong. */
export const hookTimeoutMs = millis(60_000);
/** Short: the user has left, and nothing waits for the hook. */
export const sessionEndTimeoutMs = millis(1_500);
/** Between asking a hook's processes to end and killing them. */
export const hookKillGraceMs = millis(250);
/**
 * For output that is still in the pipe after the hook has ended; a process that it left behind may hold the pipe for
 * ever.
 */
export const hookDrainMs = millis(200);
/** Maximum size of each of a hook's two streams; the rest is read and dropped. */
export const hookOutputBytesMax = bytes(2 ** 20);
/** Maximum length of a text from a hook that enters the conversation or is shown. */
export const hookTextCharsMax = 10_000;
/** How much of a command a warning quotes. */
export const quotedCommandCharsMax = 80;
