import type { ModelOverride } from "palimpsest/internal/schema/model";

export interface ExchangeOptions {
  /** Who writes summaries: nobody (they are made from the messages), or the conversation's model at the client's cost. */
  readonly summarizer: "none" | "own";
  /** Which usage the client is told: see `UsageReport`. */
  readonly usage: "used" | "sent";
  /** Message threads of the Messages API: `keep` holds their histories here; `refuse` makes the SDK send whole lists. */
  readonly threads: "keep" | "refuse";
  /** The operator's own, before the known ones. */
  readonly prices?: readonly ModelOverride[] | undefined;
}
