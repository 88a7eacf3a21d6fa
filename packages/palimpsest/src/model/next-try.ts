import { type Millis, millis } from "../schema/brand.ts";
import type { ModelFailure } from "../ports/model-port.ts";
import type { RetryLimits } from "./limits.ts";

interface FailedTry {
  readonly failure: ModelFailure;
  /** Which try failed, from 1. */
  readonly attempt: number;
  /** From 0 up to 1: sessions that failed together do not come back together. */
  readonly random: number;
  readonly limits: RetryLimits;
}

type NextTry =
  | { readonly kind: "wait"; readonly ms: Millis }
  /** `message` is one line for a person. */
  | { readonly kind: "give-up"; readonly message: string };

/**
 * What to do about a try that failed. Waits grow twofold up to a limit, each cut by chance to anything between nothing
 * and all of it. A wait that the server asks for is never cut: chance only adds to it.
 */
export function nextTry({ failure, attempt, random, limits }: FailedTry): NextTry {
  const { message, retry, retryAfterMs } = failure;
  if (retry === "never") return { kind: "give-up", message };
  if (attempt >= limits.triesMax) return { kind: "give-up", message: `${message} (tried ${attempt} times)` };
  if (retryAfterMs === undefined) {
    const longest = Math.min(limits.backoffMillis * 2 ** (attempt - 1), limits.backoffMillisMax);
    return { kind: "wait", ms: millis(Math.round(random * longest)) };
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
