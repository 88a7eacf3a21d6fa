import type { Millis } from "palimpsest/internal/schema/brand";
import { millis } from "palimpsest/internal/schema/brand";
import { pauseMillisMax, pauseMillisMin, readCharsPerSecond, typedCharsAtOnce, typedCharsPerSecond } from "./limits.ts";

/** How fast the demo goes. None of these rejects. */
export interface Pace {
  /** What comes now is a step of its own: whoever has hurried waits for this one again. */
  step(): void;
  /** As long as it takes to read so many characters. */
  reading(chars: number): Promise<void>;
  /** Behind each piece of what is typed. Undefined where texts come whole. */
  readonly typing?: { readonly charsAtOnce: number; pause(): Promise<void> };
}

/** For machines, and people who have seen it. */
export const fastPace: Pace = { step: () => {}, reading: () => Promise.resolve() };

export interface PaceDeps {
  /** Ends early where the signal is raised. Must not reject. */
  readonly sleep: (time: Millis, signal: AbortSignal) => Promise<void>;
  /** Whoever is told to hurry shows the rest of the step at once. */
  readonly onHurry: (hurry: () => void) => void;
  readonly stop: AbortSignal;
}

export function readingPace({ sleep, onHurry, stop }: PaceDeps): Pace {
  let step = new AbortController();
  onHurry(() => step.abort());
  const wait = (time: number): Promise<void> =>
    step.signal.aborted || stop.aborted ? Promise.resolve() : sleep(millis(time), AbortSignal.any([step.signal, stop]));
  return {
    step: () => {
      if (step.signal.aborted) step = new AbortController();
    },
    reading: (chars) => wait(Math.min(pauseMillisMax, pauseMillisMin + (chars * 1_000) / readCharsPerSecond)),
    typing: { charsAtOnce: typedCharsAtOnce, pause: () => wait((typedCharsAtOnce * 1_000) / typedCharsPerSecond) },
  };
}
