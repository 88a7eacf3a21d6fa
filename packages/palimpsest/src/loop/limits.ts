import { millis } from "../schema/brand.ts";

/** Rounds of one turn. A model that has not finished by then is going in circles. */
export const roundsMax = 500;

/** Calls of read-only tools that run in parallel. */
export const parallelCallsMax = 8;

/** How long an aborted tool may take to stop; then its call ends without it. */
export const abortGraceMs = millis(5_000);

/** How often a hook may make the model continue in one turn. */
export const stopHooksMax = 10;
