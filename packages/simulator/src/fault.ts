import type { Millis } from "palimpsest/internal/schema/brand";

/**
 * Things that go wrong, on demand. `rate-limit` to `reset` come instead of a reply, `compaction-unavailable` only where
 * something is compacted for it; `break` to `trickle` happen to a stream; the last three spoil what is otherwise a good
 * reply.
 */
export type Fault =
  | { readonly kind: "rate-limit"; readonly retryAfterSeconds?: number }
  | { readonly kind: "server-error" }
  | { readonly kind: "overloaded" }
  | { readonly kind: "timeout" }
  | { readonly kind: "compaction-unavailable" }
  | { readonly kind: "hang" }
  | { readonly kind: "reset" }
  | { readonly kind: "break"; readonly afterEvents: number }
  | { readonly kind: "break-utf8" }
  | { readonly kind: "overloaded-midway"; readonly afterEvents: number }
  | { readonly kind: "duplicate" }
  | { readonly kind: "trickle"; readonly everyMs: Millis }
  | { readonly kind: "wrong-usage"; readonly factor: number }
  | { readonly kind: "cache-lost" }
  | { readonly kind: "clock-jump"; readonly byMs: Millis };

export type FaultKind = Fault["kind"];
