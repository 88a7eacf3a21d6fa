import type { Fault } from "./fault.ts";
import type { FaultChoice } from "./fault-choice.ts";
import { invalid, type Refusal, refusal } from "../refusal.ts";

/** Faults that come instead of a reply. */
export type EarlyOutcome = Refusal | { readonly kind: "dropped" } | { readonly kind: "silence" };

/** How a reply goes out. */
export type ReplyForm = "json" | "stream";

/** A body is sent once: nothing in it can come twice. */
export const canStrike = (fault: Fault, form: ReplyForm): boolean => form === "stream" || fault.kind !== "duplicate";

/** Of a fault that a client asks for, and that can't happen to its reply. */
export const unfitFaultRefusal = (fault: Fault): Refusal =>
  invalid(`${fault.kind} happens to a stream only: send "stream": true`, "x-simulator-fault");

/** What befalls a request by chance, where it can. */
export function chooseFault(
  faults: FaultChoice | undefined,
  { n, form }: { readonly n: number; readonly form: ReplyForm },
): Fault | undefined {
  const fault = faults?.choose(n);
  return fault !== undefined && canStrike(fault, form) ? fault : undefined;
}

/** Where nothing is compacted, a compaction that is unavailable is missed by nobody. `ending`: of a request without a reply. */
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
    // Only a compaction meets it, and whether there is one is not known before the rules.
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
