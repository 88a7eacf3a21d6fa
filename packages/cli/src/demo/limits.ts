import { millis } from "palimpsest/internal/schema/brand";

/** A tenth of the smallest window of current models, so that a session of a minute overflows it. */
export const windowTokens = 20_000;

/** The largest window of the model: the prompt can grow without any limit that matters. */
export const unmanagedWindowTokens = 1_000_000;

/** Typing speed of the model's text: about as fast as a model writes. */
export const typedCharsPerSecond = 260;

/** Characters per write: with fewer, writes would come more often than a terminal draws. */
export const typedCharsAtOnce = 4;

/** Reading speed of text that is printed at once: paths and numbers are skimmed. */
export const readCharsPerSecond = 230;

/** After everything that is printed, however short. */
export const pauseMillisMin = millis(90);

/** After a long text: a slower reader can scroll back. */
export const pauseMillisMax = millis(1_800);

/** Longer lines are hard to read on a wide terminal. */
export const columnsMax = 100;

/** If the output has no known width. */
export const columnsDefault = 80;

/** Enough for the session that is killed to begin its call, even on a slow machine. */
export const killedMillisMax = millis(60_000);
