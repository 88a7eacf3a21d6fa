import { type Millis, millis } from "../schema/brand.ts";
import type { ModelFailure } from "../ports/model-port.ts";
import type { RetryLimits } from "./limits.ts";

interface FailedTry {
  readonly failure: ModelFailure;
  /** The number of the failed try, from 1. */
  readonly attempt: number;
  /** From 0 up to 1, so that sessions that failed together do not retry together. */
  readonly random: number;
  readonly limits: RetryLimits;
}

type NextTry =
  | { readonly kind: "wait"; readonly ms: Millis }
  /** `message` is one line for the user. */
  | { readonly kind: "give-up"; readonly message: string };

/**
 * What to do after a failed try. The bound of the wait doubles up to a limit, and the wait is a random share of that bound.
 * A wait that the server requests is never shortened: the random part is added to it.
 */
export function nextTry({ failure, attempt, random, limits }: FailedTry): NextTry {
  const { message, retry, retryAfterMs } = failure;
  if (retry === "never") return { kind: "give-up", message };
  if (attempt >= limits.triesMax) return { kind: "give-up", message: `${message} (tried ${attempt} times)` };
  if (retryAfterMs === undefined) {
    const backoffMs = Math.min(limits.backoffMillis * 2 ** (attempt - 1), limits.backoffMillisMax);
    return { kind: "wait", ms: millis(Math.round(random * backoffMs)) };
  }
  if (retryAfterMs > limits.retryAfterMillisMax) {
    return { kind: "give-up", message: `${message} (the server asks to wait ${formatWait(retryAfterMs)})` };
  }
  return { kind: "wait", ms: millis(Math.round(retryAfterMs + random * limits.backoffMillis)) };
}

function formatWait(ms: Millis): string {
  const minutes = Math.ceil(ms / 60_000);
  if (minutes < 120) return `${minutes} ${minutes === 1 ? "minute" : "minutes"}`;
  return `${Math.ceil(minutes / 60)} hours`;
}
