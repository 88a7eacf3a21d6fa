import { setTimeout as wait } from "node:timers/promises";
import { millis, type Millis } from "palimpsest/internal/schema/brand";

/**
 * The simulator's time. Cache lifetimes, delays and timestamps all come from here, so that a test can let an hour pass.
 */
export interface SimulatorClock {
  now(): Millis;
  /** Moves the clock by a number of milliseconds. */
  advance(by: number): void;
  sleep(duration: Millis, signal?: AbortSignal): Promise<void>;
}

/** A clock that stands still unless it is advanced; a sleep advances it. */
export function virtualClock(start: Millis = virtualStart): SimulatorClock {
  let now = start;
  const advance = (by: number): void => {
    now = clampToCalendar(now + by);
  };
  return {
    now: () => now,
    advance,
    sleep: (duration) => {
      advance(duration);
      return Promise.resolve();
    },
  };
}

/** The machine's time, which a request may push forward. */
export function realClock(): SimulatorClock {
  let ahead = 0;
  return {
    now: () => clampToCalendar(Date.now() + ahead),
    advance: (by) => {
      ahead = clampToCalendar(Date.now() + ahead + by) - Date.now();
    },
    sleep: async (duration, signal) => {
      // The client that waited has gone away, so there is nothing to report.
      await wait(duration, undefined, { ...(signal === undefined ? {} : { signal }), ref: false }).catch(
        () => undefined,
      );
    },
  };
}

/** Jumps add up; the clock stays within the years that a date can be written in. */
const clampToCalendar = (at: number): Millis => millis(Math.min(Math.max(at, earliest), latest));

const earliest = Date.UTC(1, 0, 1);
const latest = Date.UTC(9999, 11, 31);

/** 2026-01-01T00:00:00Z; any fixed moment would do. */
const virtualStart = millis(1_767_225_600_000);
