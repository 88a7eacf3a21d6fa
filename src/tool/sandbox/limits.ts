import { millis } from "../../schema/brand.ts";

/** For the one try of a sandbox when it is looked for: it takes some 10 ms, on a machine under load a hundred times that. */
export const sandboxTryMsMax = millis(10_000);
/** Of what a failed try says: its first line names the cause. */
export const sandboxTryCharsMax = 300;
/**
 * Mounts of one command: each costs some 20 µs at every start, and Linux allows 100,000 in one namespace. Rules that need
 * more than this are refused, as leaving some out would open what they hide.
 */
export const sandboxMountsMax = 2_000;
