import { millis, type Millis } from "palimpsest/internal/schema/brand";
import type { Fault } from "./fault.ts";
import { parseFault } from "./fault-text.ts";
import { clockJumpMillisMax } from "./limits.ts";
import { invalid, type Refusal } from "./refusal.ts";

/** Headers by which a client steers the simulator. They are no part of the API and of no prompt. */
const controlHeaders = {
  /** Milliseconds by which the clock goes forward before the request counts as started. */
  advance: "x-simulator-advance-ms",
  /** A fault for this request: `rate-limit retry-after=3`. */
  fault: "x-simulator-fault",
} as const;

/** Headers that every answer carries. */
export const reportHeaders = {
  cost: "x-simulator-cost-usd",
  number: "x-simulator-request",
  now: "x-simulator-now",
} as const;

export interface Control {
  readonly kind: "control";
  readonly advanceMillis: Millis;
  readonly fault: Fault | undefined;
}

/** Anything with the `get` of `Headers`. */
export interface HeaderSource {
  get(name: string): string | null;
}

export function readControl(headers: HeaderSource): Control | Refusal {
  const advance = headers.get(controlHeaders.advance);
  const advanceMillis = advance === null ? 0 : Number(advance);
  if (!/^\d+$/.test(advance ?? "0") || advanceMillis > clockJumpMillisMax)
    return invalid(
      `milliseconds to go forward, a whole number from 0 to ${clockJumpMillisMax}`,
      controlHeaders.advance,
    );
  const asked = headers.get(controlHeaders.fault);
  if (asked === null) return { kind: "control", advanceMillis: millis(advanceMillis), fault: undefined };
  const parsed = parseFault(asked);
  return parsed.kind === "wrong"
    ? invalid(parsed.message, controlHeaders.fault)
    : { kind: "control", advanceMillis: millis(advanceMillis), fault: parsed.fault };
}
