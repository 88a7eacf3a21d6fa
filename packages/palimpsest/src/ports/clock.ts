import type { Millis } from "../schema/brand.ts";

export interface ClockDep {
  /** Milliseconds since 1970, as people's clocks show it. */
  readonly now: () => Millis;
}
