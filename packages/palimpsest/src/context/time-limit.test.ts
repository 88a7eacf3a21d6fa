import { describe, expect, it } from "vitest";
import { handClock } from "../../../../test/fixture/hand-clock.ts";
import { millis } from "../schema/brand.ts";
import { TimeLimit } from "./time-limit.ts";

const limits = { timeMillisMax: millis(10_000), silenceMillisMax: millis(3_000) };

function limited(over: Partial<typeof limits> = {}) {
  const clock = handClock();
  const caller = new AbortController();
  const limit = new TimeLimit(clock, { ...limits, ...over, signal: caller.signal });
  return { clock, caller, limit };
}

describe("a time limit", () => {
  it("raises its signal after so long a silence, and says so", async () => {
    const { clock, limit } = limited();
    await clock.advance(2_999);
    expect(limit.signal.aborted).toBe(false);
    expect(limit.exceeded).toBeUndefined();
    await clock.advance(1);
    expect(limit.signal.aborted).toBe(true);
    expect(limit.exceeded).toBe("Nothing came for 3 seconds.");
  });

  it("begins anew at each sign of life, up to the whole time", async () => {
    const { clock, limit } = limited();
    for (let second = 1; second < 10; second += 1) {
      await clock.advance(1_000);
      limit.heard();
    }
    expect(limit.signal.aborted).toBe(false);
    await clock.advance(1_000);
    expect(limit.exceeded).toBe("It took longer than 10 seconds.");
  });

  it("is raised with the caller's signal, which is no excess", () => {
    const { caller, limit } = limited();
    caller.abort();
    expect(limit.signal.aborted).toBe(true);
    expect(limit.exceeded).toBeUndefined();
  });

  it("waits for nothing once the work is done", async () => {
    const { clock, limit } = limited();
    expect(clock.waiting()).toBe(1);
    limit.end();
    expect(clock.waiting()).toBe(0);
    await clock.advance(60_000);
    expect(limit.signal.aborted).toBe(false);
  });

  it("takes a timer that fires a moment too early for what it is", async () => {
    const clock = handClock();
    const early = { now: clock.now, wait: (time: number, signal: AbortSignal) => clock.wait(millis(time - 1), signal) };
    const limit = new TimeLimit(early, { timeMillisMax: millis(1_000), signal: new AbortController().signal });
    await clock.advance(999);
    expect(limit.signal.aborted).toBe(false);
    await clock.advance(1);
    await clock.advance(0);
    expect(limit.signal.aborted).toBe(true);
  });

  it("limits nothing where waiting takes no time", async () => {
    const instant = { now: () => millis(0), wait: () => Promise.resolve() };
    const limit = new TimeLimit(instant, { ...limits, signal: new AbortController().signal });
    await new Promise((resolve) => setImmediate(resolve));
    expect(limit.signal.aborted).toBe(false);
  });
});
