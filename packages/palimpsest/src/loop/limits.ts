import { millis } from "../schema/brand.ts";

/** Rounds of one turn. A model that has not come to an end by then goes in circles. */
export const roundsMax = 500;

/** Tools that only read and run side by side. */
export const parallelCallsMax = 8;

/** How long a tool that is to stop may take to do so; then its call ends without it. */
export const abortGraceMs = millis(5_000);

/** How often a hook may make the model go on in one turn. */
export const stopHooksMax = 10;
