import type { EntryId } from "./brand.ts";
import type { JsonObject } from "./json.ts";

/** Who started the compaction, under the ecosystem's names. */
export type CompactionTrigger = "auto" | "manual";

/**
 * Why the compaction happens now. `threshold`: the context exceeds it. `price`: the rent has paid for it. `limit`: no
 * request fits any more. `overflow`: the provider refused a request as too long. `refused`: the provider also refuses
 * every simpler request. `person`, `agent`: the user or the agent asked for it.
 */
export type CompactionCause = "threshold" | "price" | "limit" | "overflow" | "refused" | "person" | "agent";

/** `from`: covers this message and everything after it. `up_to`: covers everything before it. */
export type CompactionRange =
  | { readonly kind: "all" }
  | { readonly kind: "from"; readonly entry: EntryId }
  | { readonly kind: "up_to"; readonly entry: EntryId };

/** What produced the summary. `given`: the user's own text. */
export type CompactionPath = "notes" | "fork" | "stream" | "server" | "extractive" | "given";

export type CompactionFailure =
  | "nothing_to_compact"
  | "switched_off"
  /** A hook blocked it. */
  | "blocked"
  | "no_summary"
  | "api_error"
  | "prompt_too_long"
  | "timed_out"
  | "aborted"
  /** The result would be no smaller, or over the threshold again at once. */
  | "still_over"
  | "breaker_open"
  | "spend_limit"
  | "unwritten";

/** One answered request for a summary, as the provider charged it. */
export interface CompactionCall {
  readonly path: "fork" | "stream" | "server";
  readonly model: string;
  readonly usage: JsonObject;
}
