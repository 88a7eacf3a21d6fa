import type { Fault } from "./fault.ts";
import { type Refusal, refusal } from "./refusal.ts";

/** Faults that come instead of a reply. */
export type EarlyOutcome = Refusal | { readonly kind: "dropped" } | { readonly kind: "silence" };

/** How a reply goes out. */
export type ReplyForm = "json" | "stream";

/** A body is sent once: nothing in it can come twice. */
export const fits = (fault: Fault, form: ReplyForm): boolean => form === "stream" || fault.kind !== "duplicate";

/** Undefined for a fault that leaves room for a reply. */
export function earlyFault(fault: Fault | undefined, form: ReplyForm): EarlyOutcome | undefined {
  switch (fault?.kind) {
    case "rate-limit":
      return refusal(
        "rate_limit_error",
        "This request would exceed your organization's rate limit.",
        fault.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: fault.retryAfterSeconds },
      );
    case "server-error":
      return refusal("api_error", "Internal server error");
    case "overloaded-midway":
      // What breaks a stream with an event keeps a body from being sent at all.
      return form === "json" ? refusal("overloaded_error", "Overloaded") : undefined;
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
    case "duplicate":
    case "trickle":
    case "wrong-usage":
    case "cache-lost":
    case "clock-jump":
    case undefined:
      return undefined;
  }
}
