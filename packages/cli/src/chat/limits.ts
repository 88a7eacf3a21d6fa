import { millis } from "palimpsest/internal/schema/brand";

/** For whatever still runs when a person leaves: longer, and they would end the process themselves. */
export const closeMillisMax = millis(5_000);

/** Hooks are told that a person is waited for when the prompt has been idle this long: who just reads needs no call. */
export const idleNotificationMillis = millis(60_000);

/** Between two looks at the jobs in the background, while there are some: they end without an event. */
export const jobsLookMillis = millis(1_000);

/** A text that nobody has sent yet is kept at most this often: every key would be a write. */
export const draftKeptMillis = millis(1_000);

/** A larger file is none of ours, or damaged. */
export const keptInputBytesMax = 8 * 2 ** 20;

/** A larger log is not read again to show what stands before its last boundary: the prompt must not wait for it. */
export const pastBytesMax = 32 * 2 ** 20;
