import { millis } from "palimpsest/internal/schema/brand";

/** How long events must pause before the command runs: they come in bursts. */
export const statuslineDebounceMs = millis(300);
/** The output of a slower command would be out of date. */
export const statuslineTimeoutMs = millis(5_000);
/** Characters of a line, styling included: no terminal is wider. */
export const statuslineCharsMax = 2_000;
