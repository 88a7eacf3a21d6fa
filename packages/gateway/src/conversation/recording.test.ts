import { setImmediate as nextRound, setTimeout as wait } from "node:timers/promises";
import { expect, it } from "vitest";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { recordDelayMs } from "./limits.ts";
import { Recording } from "./recording.ts";

function record() {
  const taken: JsonObject[] = [];
  let starts = 0;
  const recording = new Recording({
    start: async (events) => {
      starts += 1;
      for await (const event of events) taken.push(event);
    },
    onFailure: () => undefined,
  });
  return { recording, taken, starts: () => starts };
}

it("a reply is handed over when it has ended, not while it comes", async () => {
  const { recording, taken, starts } = record();
  recording.put({ n: 1 });
  await nextRound();
  recording.put({ n: 2 });
  recording.leave();
  expect(starts()).toBe(0);
  await recording.done;
  expect(taken).toEqual([{ n: 1 }, { n: 2 }]);
});

it("what waits to be put is put before it is handed over", async () => {
  const taken: JsonObject[] = [];
  const recording: Recording = new Recording({
    start: async (events) => {
      for await (const event of events) taken.push(event);
    },
    onFailure: () => undefined,
    beforeHandOver: () => recording.put({ n: 2 }),
  });
  recording.put({ n: 1 });
  recording.leave();
  await recording.done;
  expect(taken).toEqual([{ n: 1 }, { n: 2 }]);
});

it("a hurried one is handed over at once, and only once", async () => {
  const { recording, taken, starts } = record();
  recording.put({ n: 1 });
  recording.handOver();
  expect(starts()).toBe(1);
  recording.put({ n: 2 });
  recording.leave();
  await recording.done;
  await wait(5 * recordDelayMs);
  expect([starts(), taken]).toEqual([1, [{ n: 1 }]]);
});

it("is done also if it can't be stored, and that is told", async () => {
  const told: unknown[] = [];
  const failure = new Error("disk full");
  const recording = new Recording({ start: () => Promise.reject(failure), onFailure: (error) => told.push(error) });
  recording.leave();
  await recording.done;
  expect(told).toEqual([failure]);
});
