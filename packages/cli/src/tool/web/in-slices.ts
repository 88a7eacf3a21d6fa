import { setImmediate as others } from "node:timers/promises";
import type { Millis } from "palimpsest/internal/schema/brand";
import { sliceMs } from "./limits.ts";

/** Work in steps, each far below a slice; where it stops is its own to choose. */
export type Steps<Result> = Generator<undefined, Result>;

/** Does the work with pauses in which everything else of the process goes on: a screen, an interrupt, other calls. */
export async function inSlices<Result>(steps: Steps<Result>, forMs: Millis = sliceMs): Promise<Result> {
  let started = performance.now();
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (performance.now() - started < forMs) continue;
    await others();
    started = performance.now();
  }
}
