import type { Millis } from "../schema/brand.ts";

export interface ClockDep {
  /** Wall-clock time: milliseconds since 1970. */
  readonly now: () => Millis;
}

export interface IdsDep {
  /** A fresh UUID. Passed in, so that a whole session can be replayed byte for byte. */
  readonly uuid: () => string;
}
