import type { EntryId } from "./brand.ts";
import type { JsonObject } from "./json.ts";

/** Who wanted it, under the ecosystem's names. */
export type CompactionTrigger = "auto" | "manual";

/**
 * Why now. `threshold`: the context is over it. `price`: the rent has paid for it. `limit`: no request fits any more.
 * `overflow`: the provider refused a request as too long. `refused`: it refuses every plainer one too. `person`, `agent`:
 * asked for.
 */
export type CompactionCause = "threshold" | "price" | "limit" | "overflow" | "refused" | "person" | "agent";

/** `from`: this message and all behind it. `up_to`: everything before it; it and what is behind it stays. */
export type CompactionRange =
  | { readonly kind: "all" }
  | { readonly kind: "from"; readonly entry: EntryId }
  | { readonly kind: "up_to"; readonly entry: EntryId };

/** What produced the summary. `given`: a person's own text. */
export type CompactionPath = "notes" | "fork" | "stream" | "server" | "extractive" | "given";

export type CompactionFailure =
  | "nothing_to_compact"
  | "switched_off"
  /** By a hook. */
  | "blocked"
  | "no_summary"
  | "api_error"
  | "prompt_too_long"
  | "timed_out"
  | "aborted"
  /** What would be left is no smaller, or over the threshold again at once. */
  | "still_over"
  | "breaker_open"
  | "spend_limit"
  | "unwritten";

/** One request for a summary that was answered, as the provider charged it. */
export interface CompactionCall {
  readonly path: "fork" | "stream" | "server";
  readonly model: string;
  readonly usage: JsonObject;
}
