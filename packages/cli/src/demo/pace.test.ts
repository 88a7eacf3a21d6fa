import { expect, it } from "vitest";
import type { Millis } from "palimpsest/internal/schema/brand";
import { pauseMillisMax, pauseMillisMin } from "./limits.ts";
import { fastPace, createReadingPace } from "./pace.ts";

function paced() {
  const slept: Millis[] = [];
  const stop = new AbortController();
  const hurries: (() => void)[] = [];
  const pace = createReadingPace({
    sleep: async (time) => void slept.push(time),
    onHurry: (hurry) => void hurries.push(hurry),
    stop: stop.signal,
  });
  return { pace, slept, stop, hurry: () => hurries.forEach((one) => one()) };
}

it("a pause grows with what is to be read, within its limits", async () => {
  const { pace, slept } = paced();
  for (const chars of [0, 100, 200, 100_000]) await pace.pauseForReading(chars);
  expect(slept).toEqual([...slept].toSorted((one, other) => one - other));
  expect(new Set(slept).size).toBe(4);
  expect([slept.at(0), slept.at(-1)]).toEqual([pauseMillisMin, pauseMillisMax]);
});

it("whoever hurries waits no more in this step, and again in the next", async () => {
  const { pace, slept, hurry } = paced();
  hurry();
  await pace.typing?.pause();
  await pace.pauseForReading(50);
  expect(slept).toEqual([]);
  pace.startStep();
  await pace.pauseForReading(50);
  expect(slept).toHaveLength(1);
});

it("a key ends the pause that runs", async () => {
  let ended: AbortSignal | undefined;
  let hurry = (): void => {};
  const pace = createReadingPace({
    sleep: (_, signal) =>
      new Promise((resolve) => ((ended = signal), signal.addEventListener("abort", () => resolve()))),
    onHurry: (one) => void (hurry = one),
    stop: new AbortController().signal,
  });
  const waiting = pace.pauseForReading(50);
  hurry();
  await waiting;
  expect(ended?.aborted).toBe(true);
});

it("nobody waits once it is stopped", async () => {
  const { pace, slept, stop } = paced();
  stop.abort();
  pace.startStep();
  await pace.pauseForReading(50);
  expect(slept).toEqual([]);
});

it("fast has no pauses and types nothing", () => expect(fastPace.typing).toBeUndefined());
