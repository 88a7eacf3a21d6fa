import type { Millis } from "palimpsest/internal/schema/brand";

export interface CutLimits {
  readonly timeoutMs: Millis;
  readonly signal: AbortSignal;
}

/** Which of the two comes first: the time limit or the abort. */
export function cutShort({ timeoutMs, signal }: CutLimits): Cut {
  const { promise, resolve } = Promise.withResolvers<"timed-out" | "aborted">();
  const timer = setTimeout(() => resolve("timed-out"), timeoutMs);
  const onAbort = (): void => resolve("aborted");
  signal.addEventListener("abort", onAbort, { once: true });
  const release = (): void => {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  };
  return { first: promise, release };
}

export interface Cut {
  readonly first: Promise<"timed-out" | "aborted">;
  /** Without it the timer and the listener outlive what they were for. */
  readonly release: () => void;
}
