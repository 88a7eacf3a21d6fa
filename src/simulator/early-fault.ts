import type { Fault } from "./fault.ts";
import { type Refusal, refusal } from "./refusal.ts";

/** Faults that come instead of a reply. */
export type EarlyOutcome = Refusal | { readonly kind: "dropped" } | { readonly kind: "silence" };

/** Undefined for a fault that leaves room for a reply. */
export function earlyFault(fault: Fault | undefined): EarlyOutcome | undefined {
  switch (fault?.kind) {
    case "rate-limit":
      return refusal(
        "rate_limit_error",
        "This request would exceed your organization's rate limit.",
        fault.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: fault.retryAfterSeconds },
      );
    case "server-error":
      return refusal("api_error", "Internal server error");
    case "overloaded":
      return refusal("overloaded_error", "Overloaded");
    case "timeout":
      return refusal("timeout_error", "Request timed out");
    case "reset":
      return { kind: "dropped" };
    case "hang":
      return { kind: "silence" };
    case "break":
    case "break-utf8":
    case "overloaded-midway":
    case "duplicate":
    case "trickle":
    case "wrong-usage":
    case "cache-lost":
    case "clock-jump":
    case undefined:
      return undefined;
  }
}
