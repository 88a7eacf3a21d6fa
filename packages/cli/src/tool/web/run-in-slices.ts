import { setImmediate as others } from "node:timers/promises";
import { sliceMs } from "./limits.ts";
import type { Millis } from "palimpsest/internal/schema/brand";

/** Work that yields at points of its own choice; each step must be far shorter than a slice. */
export type Steps<Result> = Generator<undefined, Result>;

/** Runs the steps with pauses in which the rest of the process goes on: the screen, interrupts, other calls. */
export async function runInSlices<Result>(steps: Steps<Result>, forMs: Millis = sliceMs): Promise<Result> {
  let started = performance.now();
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (performance.now() - started < forMs) continue;
    await others();
    started = performance.now();
  }
}
