import { millis } from "../../schema/brand.ts";

/** Thinking of turns that are over stays while somebody works on it: an hour is what the longest lifetime of a cache bridges. */
export const thinkingIdleMillis = millis(3_600_000);

/** A server that did not say what it offers may take seconds to fail each time: it is asked once in so long, not before every request. */
export const offersRetryMillis = millis(60_000);
