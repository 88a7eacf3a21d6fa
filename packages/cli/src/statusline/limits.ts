import { millis } from "palimpsest/internal/schema/brand";

/** How long it has to be quiet before the command runs: events come in bursts. */
export const statuslineDebounceMs = millis(300);
/** A command that takes longer would show what is no longer true. */
export const statuslineTimeoutMs = millis(5_000);
/** Of a line, styling included: no terminal is wider. */
export const statuslineCharsMax = 2_000;
