import { millis } from "palimpsest/internal/schema/brand";

/** A tenth of the smallest that models have, so that a session of a minute is a long one. */
export const windowTokens = 20_000;

/** The largest that the model has: nothing stands in the way of an ever longer prompt. */
export const unmanagedWindowTokens = 1_000_000;

/** Of the model's text, letter by letter: about what a model writes. */
export const typedCharsPerSecond = 260;

/** Letters of one write: fewer would only wake the terminal more often than it draws. */
export const typedCharsAtOnce = 4;

/** Of what stands there at once: nobody reads paths and figures letter by letter. */
export const readCharsPerSecond = 230;

/** Behind everything that is shown, however short. */
export const pauseMillisMin = millis(90);

/** Behind a long text: who is not done presses no key, and the scrollback stays. */
export const pauseMillisMax = millis(1_800);

/** Of what the chat draws, on a wide terminal: longer lines are hard to read. */
export const columnsMax = 100;

/** Where nobody says how wide it is. */
export const columnsDefault = 80;

/** The killed session has begun its call by then, also on a slow machine. */
export const killedMillisMax = millis(60_000);
