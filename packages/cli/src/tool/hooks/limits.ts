import { bytes, millis } from "palimpsest/internal/schema/brand";

/** Long enough for a linter or a test, short enough that a person sees that something is wrong. */
export const hookTimeoutMs = millis(60_000);
/** The person has left: nobody waits for it. */
export const sessionEndTimeoutMs = millis(1_500);
/** Between asking a hook's processes to end and ending them. */
export const hookKillGraceMs = millis(250);
/** For output still in the pipe once the hook has ended; a process that it left behind may hold the pipe for ever. */
export const hookDrainMs = millis(200);
/** Of each of a hook's two streams; what comes after it is read and dropped. */
export const hookOutputBytesMax = bytes(2 ** 20);
/** Of a text from a hook that enters the conversation or is shown. */
export const hookTextCharsMax = 10_000;
/** How much of a command a warning quotes. */
export const quotedCommandCharsMax = 80;
