import { invalid, refusal, type Refusal } from "../refusal.ts";

/** What a thread can't be combined with. The API's own names. */
export type UnsupportedFeature = "cache_control" | "context_management" | "thinking";

const replay = 'send the whole conversation with `thread: {"type": "create"}`';

export const threadNotFound = (id: string): Refusal =>
  refusal("not_found_error", `thread: no thread goes on from '${id}'; ${replay}`, { errorCode: "thread_not_found" });

export const alreadyContinued = (id: string): Refusal => ({
  ...invalid(`'${id}' has been continued already: go on from the thread's newest response`, previousId),
  errorCode: "thread_already_continued",
});

export const continueInFlight = (id: string): Refusal => ({
  ...invalid(`another request is still continuing from '${id}': wait for it, or ${replay}`, previousId),
  errorCode: "thread_continue_in_flight",
});

export const fingerprintMismatch = (fields: readonly string[]): Refusal => ({
  ...invalid(`differs from what the thread holds: ${listed(fields)}; send the same, or ${replay}`, "thread"),
  errorCode: "thread_fingerprint_mismatch",
});

export const heldByThread = (field: string): Refusal =>
  invalid("the thread holds it: leave it out when continuing", field);

export const unsupportedRequest = (unsupported: readonly UnsupportedFeature[]): Refusal => ({
  ...invalid(`not supported together with ${listed(unsupported)}`, "thread"),
  errorCode: "thread_unsupported_request",
  unsupported,
});

const previousId = "thread.previous_message_id";

const listed = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(", ");
