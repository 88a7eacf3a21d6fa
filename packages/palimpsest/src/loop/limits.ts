import { millis } from "../schema/brand.ts";

/** Rounds of one turn. A model that has not finished by then is going in circles. */
export const roundsMax = 500;

/** Calls of read-only tools that run in parallel. */
export const parallelCallsMax = 8;

/** How long an aborted tool may take to stop; then its call ends without it. */
export const abortGraceMs = millis(5_000);

/** How often a hook may make the model continue in one turn. */
export const stopHooksMax = 10;

/** How long forks of one point wait for the reply of the first one to begin. Then they pay for the prefix themselves. */
export const leaderWaitMs = millis(5_000);

/** Payments of an agent that are booked at once: each booking is a line in its session's log. */
export const bookingsMax = 20;

/** Denied calls that are kept of an agent, with their inputs: enough to see what it was not allowed to do. */
export const denialsMax = 20;
