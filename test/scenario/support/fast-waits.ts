import { onTestFinished, vi } from "vitest";

type Timers = typeof import("node:timers/promises");

/** A minute passes in a sixteenth of a second: for whoever gives up after minutes. */
const times = 1_000;

/** In place of the real ones, by `vi.mock`. */
export const fastWaits = (timers: Timers): Timers => ({
  ...timers,
  setTimeout: (delay, ...rest) => timers.setTimeout((delay ?? 0) / times, ...rest),
});

/** The clock that goes with them, until the running test ends. Whatever takes real work seems to take long. */
export function fastClock(): void {
  const begun = performance.now();
  const from = Date.now();
  const spy = vi.spyOn(Date, "now").mockImplementation(() => from + Math.floor((performance.now() - begun) * times));
  onTestFinished(() => spy.mockRestore());
}
