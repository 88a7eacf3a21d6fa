import type { Fault } from "./fault.ts";
import type { FaultChoice } from "./fault-choice.ts";
import { invalid, type Refusal, refusal } from "../refusal.ts";

/** Outcomes of faults that replace the reply. */
export type EarlyOutcome = Refusal | { readonly kind: "dropped" } | { readonly kind: "silence" };

/** How a reply is sent. */
export type ReplyForm = "json" | "stream";

/** A body is sent once, so nothing in it can be duplicated. */
export const canStrike = (fault: Fault, form: ReplyForm): boolean => form === "stream" || fault.kind !== "duplicate";

/** For a fault that a client asks for but that cannot happen to its reply. */
export const unfitFaultRefusal = (fault: Fault): Refusal =>
  invalid(`${fault.kind} happens to a stream only: send "stream": true`, "x-simulator-fault");

/** The random fault of a request, if it can strike. */
export function chooseFault(
  faults: FaultChoice | undefined,
  { n, form }: { readonly n: number; readonly form: ReplyForm },
): Fault | undefined {
  const fault = faults?.choose(n);
  return fault !== undefined && canStrike(fault, form) ? fault : undefined;
}

/**
 * If nothing was compacted, an unavailable compaction had no effect. `ending`: the outcome of a request without a
 * reply.
 */
export const hasFaultStruck = ({ kind }: Fault, ending?: EarlyOutcome): boolean =>
  kind !== "compaction-unavailable" || (ending?.kind === "refused" && ending.errorCode === compactionUnavailableCode);

export const compactionUnavailableCode = "compaction_unavailable";

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
      // A fault that breaks a stream with an event prevents a body from being sent at all.
      return form === "json" ? refusal("overloaded_error", "Overloaded") : undefined;
    case "overloaded":
      return refusal("overloaded_error", "Overloaded");
    case "timeout":
      return refusal("timeout_error", "Request timed out");
    case "reset":
      return { kind: "dropped" };
    case "hang":
      return { kind: "silence" };
    // It strikes only a compaction, and whether there is one is not known before validation.
    case "compaction-unavailable":
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
